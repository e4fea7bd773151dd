// The Kubernetes client for Python and hvac, as pip installs them: below a folder of the user's cache, so that neither a
// virtual environment nor what is installed on the machine matters.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isNewEnough } from '../control-plane/build.ts'
import { cacheDirectory, fillOnce } from '../control-plane/cache.ts'

/** A Python with the clients. */
export interface PythonClient {
  readonly python: string
  /** Environment variables that it needs. */
  readonly env: Readonly<Record<string, string>>
}

const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt')
const OLDEST = '3.10'
const LIMIT_MS = 300_000
const WAYS_OUT = `install Python ${OLDEST} or newer with pip (Debian: apt-get install python3-pip), or set PYTHON to a Python that has the packages kubernetes and hvac`

const run = promisify(execFile)

/**
 * Python with the clients: what PYTHON names, else python3 from PATH with what requirements.txt pins, which
 * pip installs once into the user's cache.
 *
 * @throws Error when there is no Python, it is too old or pip fails; it names the ways out
 */
export async function ensurePythonClient(log: (line: string) => void): Promise<PythonClient> {
  const named = process.env['PYTHON'] ?? ''
  if (named !== '') return { python: named, env: {} }
  const pins = [readFileSync(REQUIREMENTS), await version()]
  const into = cacheDirectory('python-client', process.env, homedir(), pins)
  await install(into, log)
  return { python: 'python3', env: { PYTHONPATH: into } }
}

/** Built parts of packages belong to one Python: another gets a folder of its own. */
async function version(): Promise<string> {
  const { stdout } = await attempt('python3', ['-c', 'import sys; print(sys.version)'])
  if (!isNewEnough(stdout, OLDEST)) throw new Error(`python3 is ${stdout.trim()}: ${WAYS_OUT}`)
  return stdout
}

/** Installs the clients into the folder, unless it is there. */
const install = (into: string, log: (line: string) => void): Promise<void> =>
  fillOnce(into, 'the Python clients', log, (draft) => {
    log("installing the Python clients once, about 15 seconds, into the user's cache")
    return attempt('python3', ['-m', 'pip', 'install', ...PINNED, '--target', draft])
  })

/** Nothing but what is pinned, and nothing of it runs while it is installed. */
const PINNED = [
  '--quiet',
  '--no-input',
  '--require-hashes',
  '--no-deps',
  '--only-binary=:all:',
  '--requirement',
  REQUIREMENTS,
]

async function attempt(
  program: string,
  args: readonly string[],
): Promise<{ readonly stdout: string }> {
  try {
    return await run(program, [...args], { timeout: LIMIT_MS })
  } catch (cause) {
    const { stderr = '', message } = cause as Error & { readonly stderr?: string }
    throw new Error(`${stderr.trim() || message}\nEither make that work, or ${WAYS_OUT}.`, {
      cause,
    })
  }
}
