// The secret store of `make run`: the real key-value engine of tools/kv-store in memory, with an entry of a project, and a Secret
// that is pulled from it.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { secretData } from '../../src/api/objects.ts'
import type { Access } from '../control-plane/access.ts'
import { mustKubectl } from '../control-plane/kubectl.ts'
import { choosePort } from '../control-plane/ports.ts'
import { ensureKvStore } from '../kv-store/program.ts'
import { tether } from '../tether.ts'
import type { RunFolders } from './program.ts'

/** What the store needs. */
interface SecretStoreOptions {
  readonly management: Access
  readonly folders: Pick<RunFolders, 'root' | 'home'>
  readonly log: (line: string) => void
}

/** The store that runs. */
export interface RunningStore {
  /** URL of the entry that Secret `database` of namespace `p-shop` follows. */
  readonly entryUrl: string
  /** File with the header that has its token. */
  readonly headerFile: string
  stop(): Promise<void>
}

const STARTS_WITHIN_MS = 20_000
const LOOK_MS = 100

/**
 * Starts the store and declares it in the Config. Nothing of it is kept.
 *
 * @returns null = it can't be built here, such as without Go
 */
export async function startSecretStore(options: SecretStoreOptions): Promise<RunningStore | null> {
  const { folders, log } = options
  const { home } = folders
  const program = await ensureKvStore(log).catch((error: Error) => {
    log(`no secret store: ${error.message}`)
  })
  if (program === undefined) return null
  const port = await choosePort(join(home, 'secret-store-port'), log)
  const control = await choosePort(join(home, 'secret-store-control-port'), log)
  const token = `hvs.${randomBytes(18).toString('base64url')}`
  const args = [
    `--listen=127.0.0.1:${port}`,
    `--control=127.0.0.1:${control}`,
    `--root-token=${token}`,
    '--mount=secret=2',
  ]
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  tether(child)
  const output = createWriteStream(join(home, 'secret-store.log'), { flags: 'a' })
  child.stdout.pipe(output, { end: false })
  child.stderr.pipe(output, { end: false })
  const headerFile = join(home, 'secret-store-header')
  writeFileSync(headerFile, `X-Vault-Token: ${token}\n`, { mode: 0o600 })
  const url = `http://127.0.0.1:${port}`
  const entryUrl = `${url}/v1/secret/data/shop/database`
  await put(entryUrl, token, { user: 'ada', password: 'of the store' })
  await declare(url, token, options)
  log(`a secret store answers at ${url}, and Secret database of namespace p-shop follows its entry`)
  return {
    entryUrl,
    headerFile,
    stop: async () => {
      const exited = once(child, 'exit')
      if (child.kill('SIGKILL')) await exited
    },
  }
}

/** Writes an entry, as soon as the store answers. @throws Error when it does not in time */
async function put(url: string, token: string, data: object): Promise<void> {
  const untilMs = performance.now() + STARTS_WITHIN_MS
  const request = {
    method: 'POST',
    headers: { 'X-Vault-Token': token },
    body: JSON.stringify({ data }),
  }
  for (;;) {
    const answer = await fetch(url, request).catch((error: Error) => error)
    if (!(answer instanceof Error) && answer.ok) return
    if (performance.now() > untilMs) throw new Error('the secret store does not answer')
    await delay(LOOK_MS)
  }
}

/** Declares the store in the Config, and applies the samples for it. */
async function declare(
  address: string,
  token: string,
  { management, folders }: SecretStoreOptions,
): Promise<void> {
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'store-token', namespace: 'platform-system' },
    data: secretData({ token }),
  }
  const apply = ['apply', '--server-side', '--force-conflicts', '-f']
  await mustKubectl(management, [...apply, '-'], { input: JSON.stringify(secret) })
  await mustKubectl(management, [...apply, join(folders.root, 'config/samples/secret-store.yaml')])
  const auth = { tokenSecretRef: { name: 'store-token' } }
  const spec = { secretStore: { enabled: true, address, syncInterval: '10s', auth } }
  const patch = ['patch', 'config', 'platform-manager-config', '--type=merge', '-p']
  await mustKubectl(management, [...patch, JSON.stringify({ spec })])
}
