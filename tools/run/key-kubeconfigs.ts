// The kubeconfigs of `make run` that hold a sample key: for the management cluster, and for the connected one.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Access } from '../control-plane/access.ts'
import { replaceFile } from '../control-plane/exclusive-file.ts'
import { kubeconfig } from '../control-plane/kubeconfig.ts'
import { mustKubectl } from '../control-plane/kubectl.ts'
import { CLUSTER } from './connected-cluster.ts'

/** URL and CA of the gateway. */
interface GatewayAddress {
  /** The folder of `make run`. */
  readonly home: string
  readonly port: number
  /** PEM. */
  readonly caPem: string
}

/** A kubeconfig: its file's name, the sample key in it, and the path of its API at the gateway. */
const KUBECONFIGS = [
  { name: 'laptop-cli', key: 'laptop-cli', path: '/kubernetes/management' },
  { name: 'ci-scoped', key: 'ci-scoped', path: '/kubernetes/management' },
  { name: 'observability', key: 'year-long', path: '/kubernetes/management' },
  { name: 'cluster', key: 'ci-deploy', path: `/kubernetes/cluster/${CLUSTER}` },
] as const

/** Name of such a kubeconfig, without its ending. */
type Name = (typeof KUBECONFIGS)[number]['name']

/** The path of each kubeconfig; null = its key is deleted, so there is none. */
export type KeyKubeconfigs = Readonly<Record<Name, string | null>>

/** Writes them again, because keys and port may have changed since the last run. Removes one whose key is deleted. */
export async function writeKeyKubeconfigs(
  access: Access,
  address: GatewayAddress,
  log: (line: string) => void,
): Promise<KeyKubeconfigs> {
  const written = Object.fromEntries(KUBECONFIGS.map(({ name }) => [name, null])) as Record<
    Name,
    string | null
  >
  for (const { name, key, path } of KUBECONFIGS) {
    const file = join(address.home, `${name}.kubeconfig`)
    const tokenFile = join(address.home, `${name}.key`)
    const jsonpath = 'jsonpath={.spec.key}'
    const secret = await mustKubectl(access, [
      'get',
      'oak',
      key,
      '--ignore-not-found',
      '-o',
      jsonpath,
    ])
    if (secret === '') {
      for (const stale of [file, tokenFile]) await rm(stale, { force: true })
      log(`key ${key} is deleted, so there is no ${file}`)
      continue
    }
    const url = `https://127.0.0.1:${address.port}${path}`
    await replaceFile(tokenFile, secret)
    await replaceFile(file, kubeconfig(name, { url, caPem: address.caPem }, { tokenFile }))
    written[name] = file
  }
  return written
}
