// What the benchmarks measure the product against, and the program that makes the load: programs of ours in Go, which
// bench/peers has. Each says in the first lines of its main.go what it does and how it is called.
import { globSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { buildMissing, type Source } from '../tools/control-plane/build.ts'
import { cacheDirectory } from '../tools/control-plane/cache.ts'

/** A program of bench/peers. */
export type PeerName = 'load' | 'echo' | 'controller-runtime' | 'delegate'

const MODULE_DIR = join(import.meta.dirname, 'peers')
const SOURCES: Readonly<Record<PeerName, Source>> = {
  load: { pkg: './load', about: '1 minute' },
  echo: { pkg: './echo', about: 'some seconds' },
  'controller-runtime': { pkg: './controller-runtime', about: '2 minutes' },
  delegate: { pkg: './delegate', about: '1 minute' },
}
const NAMES = Object.keys(SOURCES) as PeerName[]

/**
 * The programs' absolute paths: in the folder that BENCH_PEERS names, else from the user's cache, else built with Go
 * into that cache. Their modules have the versions of the control plane's: after that has been built, less is left.
 *
 * @throws Error when Go is missing, too old or fails; it names the ways out
 */
export async function ensurePeers(
  log: (line: string) => void,
): Promise<Readonly<Record<PeerName, string>>> {
  const named = process.env['BENCH_PEERS'] ?? ''
  const into = named === '' ? cached() : resolve(named)
  if (named === '') {
    await buildMissing({
      title: 'the peers of the benchmarks',
      about: '4 minutes, or 1 minute after the control plane,',
      moduleDir: MODULE_DIR,
      into,
      sources: SOURCES,
      linkerFlags: () => '-s -w',
      otherwise: 'set BENCH_PEERS to a folder with the programs',
      log,
    })
  }
  const paths = NAMES.map((name) => [name, join(into, name)] as const)
  return Object.fromEntries(paths) as Record<PeerName, string>
}

function cached(): string {
  const sources = globSync('**/*.go', { cwd: MODULE_DIR })
  const pins = ['go.mod', 'go.sum', ...sources.toSorted()]
  const texts = pins.map((file) => readFileSync(join(MODULE_DIR, file)))
  return cacheDirectory('peers', process.env, homedir(), texts)
}
