// Keycloak, as Maven fetches it: an OpenID Connect provider that many companies have.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { chmod, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { cacheDirectory, fillOnce } from '../control-plane/cache.ts'

const ARTIFACT = 'org.keycloak:keycloak-quarkus-dist:26.7.3:zip'
const SHA256 = '27a6535553c3cdcd083872ba40629efafb3475e3b758e0c6f691395561dd0f1f'
const PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1'
const LIMIT_MS = 600_000
const WAYS_OUT =
  'install Java 17 or newer with Maven (Debian: apt-get install maven), or set KEYCLOAK to the folder of an unpacked Keycloak'

const run = promisify(execFile)

/**
 * The folder of Keycloak: what KEYCLOAK names, else one that Maven fetches once into the user's cache.
 *
 * @throws Error when there is no Java or Maven, or the archive is another; it names the ways out
 */
export async function ensureKeycloak(log: (line: string) => void): Promise<string> {
  const named = process.env['KEYCLOAK'] ?? ''
  if (named !== '') return named
  const into = cacheDirectory('keycloak', process.env, homedir(), [ARTIFACT, SHA256])
  await fillOnce(into, 'Keycloak', log, async (draft) => {
    log("fetching and building Keycloak once, about two minutes, into the user's cache")
    await fetchInto(draft)
    // What it would do at each start.
    await attempt(join(draft, 'bin/kc.sh'), ['build', '--db=dev-mem', '--cache=local'])
  })
  return into
}

async function fetchInto(draft: string): Promise<void> {
  const workplace = join(draft, 'maven')
  const fetched = join(workplace, 'fetched')
  await mkdir(fetched, { recursive: true })
  await maven('copy', fetched, workplace)
  const [archive = ''] = await readdir(fetched)
  const hash = createHash('sha256')
  await pipeline(createReadStream(join(fetched, archive)), hash)
  if (hash.digest('hex') !== SHA256)
    throw new Error(`Keycloak is another one than is pinned: ${WAYS_OUT}`)
  await maven('unpack', fetched, workplace)
  const [folder = ''] = (await readdir(fetched)).filter((name) => !name.endsWith('.zip'))
  for (const name of await readdir(join(fetched, folder)))
    await rename(join(fetched, folder, name), join(draft, name))
  await rm(workplace, { recursive: true })
  await chmod(join(draft, 'bin/kc.sh'), 0o755)
}

/** Maven leaves files of its own in the directory where it runs. */
const maven = (goal: string, into: string, workplace: string): Promise<void> =>
  attempt(
    'mvn',
    ['-q', '-B', '-C', `${PLUGIN}:${goal}`, `-Dartifact=${ARTIFACT}`, `-DoutputDirectory=${into}`],
    workplace,
  )

async function attempt(
  program: string,
  args: readonly string[],
  workplace?: string,
): Promise<void> {
  try {
    await run(program, [...args], { timeout: LIMIT_MS, cwd: workplace })
  } catch (error) {
    const { stdout = '', message } = error as Error & { readonly stdout?: string }
    throw new Error(`${program} cannot run: ${WAYS_OUT}\n${stdout || message}`, { cause: error })
  }
}
