// Raw values from etcd, past the API server.
import { readFile } from 'node:fs/promises'
import { paths, urls } from '../../tools/control-plane/commands.ts'
import { ask } from '../../tools/control-plane/https.ts'
import { readKeyPair } from '../../tools/control-plane/pki.ts'
import type { Ports } from '../../tools/control-plane/ports.ts'
import type { Coordinates } from './installed-control-plane.ts'

/** Everything under a prefix such as `/registry/secrets/`: key in etcd -> bytes as they are stored. */
export async function etcdValues(
  { dataDir }: Pick<Coordinates, 'dataDir'>,
  prefix: string,
): Promise<ReadonlyMap<string, Buffer>> {
  const call = await etcdOf({ dataDir })
  const { kvs = [] } = (await call('range', rangeOf(prefix))) as {
    readonly kvs?: readonly { readonly key: string; readonly value: string }[]
  }
  return new Map(
    kvs.map(({ key, value }) => [
      Buffer.from(key, 'base64').toString(),
      Buffer.from(value, 'base64'),
    ]),
  )
}

/** Deletes everything under each prefix. The API server's watches report it like any other deletion. */
export async function deleteInEtcd(
  { dataDir }: Pick<Coordinates, 'dataDir'>,
  prefixes: readonly string[],
): Promise<void> {
  const call = await etcdOf({ dataDir })
  for (const prefix of prefixes) await call('deleterange', rangeOf(prefix))
}

/** The keys that begin with the prefix: the range ends at the prefix with its last byte one higher. */
function rangeOf(prefix: string): object {
  const end = Buffer.from(prefix)
  end[end.length - 1] = (end.at(-1) ?? 0) + 1
  return { key: Buffer.from(prefix).toString('base64'), range_end: end.toString('base64') }
}

/** A call of etcd's JSON gateway: keys and values are base64. Throws Error when etcd refuses. */
type EtcdCall = (name: 'range' | 'txn' | 'deleterange', request: object) => Promise<unknown>

/** Calls the etcd of a control plane. */
export async function etcdOf({ dataDir }: Pick<Coordinates, 'dataDir'>): Promise<EtcdCall> {
  const ports = JSON.parse(await readFile(paths.ports(dataDir), 'utf8')) as Ports
  const pki = paths.pki(dataDir)
  const { certificatePem: caPem } = await readKeyPair(pki, 'etcd-ca')
  const tls = { caPem, client: await readKeyPair(pki, 'etcd-client') }
  return async (name, request) => {
    const { status, body } = await ask(`${urls(ports).etcdClient}/v3/kv/${name}`, tls, request)
    if (status !== 200) throw new Error(`etcd answers ${status}: ${body}`)
    return JSON.parse(body) as unknown
  }
}
