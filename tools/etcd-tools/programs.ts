// etcdctl and etcdutl, with which an administrator backs up and restores etcd.
import { join, resolve } from 'node:path'
import { buildMissing } from '../control-plane/build.ts'
import { cacheOf } from '../control-plane/cache.ts'

const MODULE_DIR = import.meta.dirname
const SOURCES = {
  etcdctl: { pkg: 'go.etcd.io/etcd/etcdctl/v3', about: '40 seconds' },
  etcdutl: { pkg: 'go.etcd.io/etcd/etcdutl/v3', about: '20 seconds' },
} as const

/** The absolute path of each. */
export interface EtcdTools {
  readonly etcdctl: string
  readonly etcdutl: string
}

/**
 * Both programs: from the folder that ETCD_TOOLS names, else from the user's cache, else built with Go
 * into that cache.
 *
 * @throws Error when Go is missing, too old or fails; it names the ways out
 */
export async function ensureEtcdTools(log: (line: string) => void): Promise<EtcdTools> {
  const named = process.env['ETCD_TOOLS'] ?? ''
  if (named !== '') return toolsIn(resolve(named))
  const into = cacheOf('etcd-tools', MODULE_DIR)
  await buildMissing({
    title: 'etcdctl and etcdutl',
    about: '1 minute',
    moduleDir: MODULE_DIR,
    into,
    sources: SOURCES,
    linkerFlags: () => '-s -w',
    otherwise: 'set ETCD_TOOLS to a folder that holds etcdctl and etcdutl',
    log,
  })
  return toolsIn(into)
}

const toolsIn = (folder: string): EtcdTools => ({
  etcdctl: join(folder, 'etcdctl'),
  etcdutl: join(folder, 'etcdutl'),
})
