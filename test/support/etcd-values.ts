// Raw values from etcd, to check that they are encrypted.
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
  const ports = JSON.parse(await readFile(paths.ports(dataDir), 'utf8')) as Ports
  const pki = paths.pki(dataDir)
  const { certificatePem: caPem } = await readKeyPair(pki, 'etcd-ca')
  const tls = { caPem, client: await readKeyPair(pki, 'etcd-client') }
  // The end of a range by prefix is the prefix with its last byte one higher.
  const end = Buffer.from(prefix)
  end[end.length - 1] = (end.at(-1) ?? 0) + 1
  const range = {
    key: Buffer.from(prefix).toString('base64'),
    range_end: end.toString('base64'),
  }
  const { status, body } = await ask(`${urls(ports).etcdClient}/v3/kv/range`, tls, range)
  if (status !== 200) throw new Error(`etcd answers ${status}: ${body}`)
  const { kvs = [] } = JSON.parse(body) as {
    readonly kvs?: readonly { readonly key: string; readonly value: string }[]
  }
  return new Map(
    kvs.map(({ key, value }) => [
      Buffer.from(key, 'base64').toString(),
      Buffer.from(value, 'base64'),
    ]),
  )
}
