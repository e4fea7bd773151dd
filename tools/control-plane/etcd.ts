import { ask, type Tls } from './https.ts'

/**
 * Compacts etcd at its current revision: every older revision of every key is gone.
 *
 * @throws Error when etcd refuses
 */
export async function compact(url: string, tls: Tls): Promise<void> {
  // Any read tells the current revision; this asks for the key "\0", which does not exist.
  const { header } = (await call(`${url}/v3/kv/range`, tls, { key: 'AA==' })) as {
    readonly header: { readonly revision: string }
  }
  await call(`${url}/v3/kv/compaction`, tls, { revision: header.revision, physical: true })
}

async function call(url: string, tls: Tls, body: object): Promise<unknown> {
  const answer = await ask(url, tls, body)
  if (answer.status !== 200) throw new Error(`${url}: ${answer.status} ${answer.body}`)
  return JSON.parse(answer.body)
}
