import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { cacheDirectory, missingIn } from '../control-plane/cache.ts'
import { unpackFromDebian } from './debian.ts'

/** Prometheus and its tool for rules. */
export const PROMETHEUS_PROGRAMS = ['prometheus', 'promtool'] as const

/** The absolute path of each. */
export type PrometheusPrograms = Readonly<Record<(typeof PROMETHEUS_PROGRAMS)[number], string>>

/** The programs, or why there are none on this machine. */
export type Found =
  | { readonly programs: PrometheusPrograms }
  | { readonly programs: null; readonly reason: string }

const WAYS_OUT =
  'put prometheus and promtool on PATH, or name them in PROMETHEUS and PROMTOOL (https://prometheus.io/download)'

/**
 * Prometheus and promtool: the programs that PROMETHEUS and PROMTOOL name, else on PATH, else, where there is
 * apt-get, from the Debian package, unpacked once into the user's cache without installing it.
 *
 * @returns a reason where nothing of that is there
 * @throws Error where only one of the two is named, where the package can't be had, and instead of a
 *   reason where CI is set
 */
export async function findPrometheus(log: (line: string) => void): Promise<Found> {
  const there = named(process.env) ?? onPath(process.env['PATH'] ?? '')
  if (there !== null) return { programs: there }
  if (missingIn('/usr/bin', ['apt-get', 'dpkg-deb']).length === 0)
    return { programs: await fromDebian(log) }
  const reason = `no Prometheus here and no apt-get to fetch it with: ${WAYS_OUT}`
  if (process.env['CI']) throw new Error(reason)
  return { programs: null, reason }
}

/** The programs that the two variables name; null when neither is set. @throws Error when one is missing */
export function named(env: Readonly<NodeJS.ProcessEnv>): PrometheusPrograms | null {
  const { PROMETHEUS: prometheus = '', PROMTOOL: promtool = '' } = env
  if (prometheus === '' && promtool === '') return null
  if (prometheus === '' || promtool === '')
    throw new Error('set both PROMETHEUS and PROMTOOL, or neither')
  return { prometheus: resolve(prometheus), promtool: resolve(promtool) }
}

/** The first folder that holds both, so that they are of one version; null when none does. */
export function onPath(path: string): PrometheusPrograms | null {
  const folder = path
    .split(delimiter)
    .find((one) => one !== '' && missingIn(one, PROMETHEUS_PROGRAMS).length === 0)
  return folder === undefined ? null : inFolder(resolve(folder))
}

const inFolder = (folder: string): PrometheusPrograms => ({
  prometheus: join(folder, 'prometheus'),
  promtool: join(folder, 'promtool'),
})

/** A package is built for one release of its distribution: another gets a folder of its own. */
async function fromDebian(log: (line: string) => void): Promise<PrometheusPrograms> {
  const pins = [readFileSync('/etc/os-release'), execFileSync('dpkg', ['--print-architecture'])]
  const into = cacheDirectory('prometheus', process.env, homedir(), pins)
  const folder = join(into, 'usr/bin')
  const isThere = (): boolean => missingIn(folder, PROMETHEUS_PROGRAMS).length === 0
  try {
    await unpackFromDebian({ names: ['prometheus'], into, isThere, log })
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`${why}\nEither make apt-get work, or ${WAYS_OUT}.`, { cause })
  }
  return inFolder(folder)
}
