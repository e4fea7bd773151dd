// Runs the store of secrets of tools/kv-store: the API of OpenBao and HashiCorp's Vault on the real KV engine. The test is its
// operator: it asks with the root token past all faults, makes tokens, and breaks things.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { choosePort } from '../../../tools/control-plane/ports.ts'
import { tether } from '../../../tools/tether.ts'
import { type ServerPair, serverPair } from '../certificate-builder.ts'
import { eventually } from '../eventually.ts'

/** A `path` of a policy, such as `secret/data/shop/*`; a segment may be `+`. */
export interface StoreRule {
  readonly path: string
  readonly capabilities: readonly (
    | 'create'
    | 'read'
    | 'update'
    | 'patch'
    | 'delete'
    | 'list'
    | 'deny'
  )[]
}

/** What a token may do and how long it lives. Times are in seconds; absent = the server's default (768 h), or no such limit. */
export interface StoreTokenParts {
  readonly namespace?: string
  readonly rules?: readonly StoreRule[]
  readonly ttl?: number
  /** A periodic token: each renewal lasts so long, without end. */
  readonly period?: number
  /** From its creation on, no renewal goes past it. */
  readonly explicitMaxTtl?: number
  /** Absent = it is not. */
  readonly renewable?: boolean
  /** True = it may not even look itself up. */
  readonly noDefaultPolicy?: boolean
}

/** What happens to requests at the store's address. */
export interface StoreFault {
  /** A text of the path; absent = all requests. */
  readonly path?: string
  readonly delayMs?: number
  /** Every so many requests fails, 1 = each; absent = none. */
  readonly every?: number
  /** What it is answered; absent = its connection breaks. */
  readonly code?: 403 | 404 | 429 | 500 | 502 | 503
}

/** A request that came to the store's address. */
export interface StoreRequest {
  readonly method: string
  /** With the query. */
  readonly path: string
  /** Empty = the root namespace. */
  readonly namespace: string
  /** 0 = it got no answer. */
  readonly code: number
}

/** An answer; `json` is null where there is no body. */
export interface StoreAnswer {
  readonly code: number
  readonly json: Readonly<Record<string, unknown>> | null
}

/** Version 2's answer to a read. */
export interface StoredVersion {
  readonly data: Readonly<Record<string, unknown>> | null
  readonly metadata: {
    readonly version: number
    readonly created_time: string
    /** Empty = it is not deleted. */
    readonly deletion_time: string
    readonly destroyed: boolean
    readonly custom_metadata: Readonly<Record<string, string>> | null
  }
}

/** A running store, with version 2 of the engine at `secret` and version 1 at `kv1`. `await using` ends it. */
export interface KvStore extends AsyncDisposable {
  readonly url: string
  /** The authority of its certificate; empty = http. */
  readonly caFile: string
  readonly rootToken: string
  /**
   * Asks the store's API past faults, seal and list of requests.
   *
   * @param path such as `/v1/secret/data/a`
   * @param namespace absent = the root namespace
   */
  ask(method: string, path: string, body?: object, namespace?: string): Promise<StoreAnswer>
  /** Writes a version of `secret/<path>`. @returns its number. @throws Error with the answer */
  put(path: string, data: object, namespace?: string): Promise<number>
  /** Reads the last version of `secret/<path>`, also a deleted one; null = there is none. */
  get(path: string, namespace?: string): Promise<StoredVersion | null>
  makeToken(parts?: StoreTokenParts): Promise<string>
  /** Ends a token now. */
  expireToken(token: string): Promise<void>
  /** Creates a namespace, such as `team/child`, and those above it. */
  addNamespace(path: string): Promise<void>
  /** Whether all requests get 503. */
  seal(on: boolean): Promise<void>
  /** Whether its port takes connections; false breaks those that are. */
  listen(on: boolean): Promise<void>
  /** Replaces the fault; `{}` ends it. */
  fault(fault: StoreFault): Promise<void>
  /** The requests since the last call. */
  requests(): Promise<readonly StoreRequest[]>
  /** Keeps a copy of all data, namespaces and tokens. @returns its number */
  backup(): Promise<number>
  restore(backup: number): Promise<void>
}

const START_LIMIT_MS = 30_000

/** How a store is served. */
export interface KvStoreOptions {
  /** Absent = https. */
  readonly scheme?: 'https' | 'http'
  /** Absent = one that its `caFile` trusts. */
  readonly certificate?: ServerPair
}

/**
 * Starts an empty store. It ends with the test process, whatever ends that.
 *
 * @param program its path, see tools/kv-store/program.ts
 * @throws Error with what it says when it does not start in time
 */
export async function startKvStore(
  program: string,
  { scheme = 'https', certificate = serverPair('a store of secrets') }: KvStoreOptions = {},
): Promise<KvStore> {
  const folder = mkdtempSync(join(tmpdir(), 'kv-store-'))
  const port = await choosePort(join(folder, 'port'), console.log)
  const control = `127.0.0.1:${await choosePort(join(folder, 'control'), console.log)}`
  const rootToken = 'hvs.the-root-token-of-the-test'
  const caFile = scheme === 'https' ? writeCertificate(folder, certificate) : ''
  const tls = ['--tls-cert', join(folder, 'cert'), '--tls-key', join(folder, 'key')]
  const args = [
    `--listen=127.0.0.1:${port}`,
    `--control=${control}`,
    `--root-token=${rootToken}`,
    '--mount=secret=2',
    '--mount=kv1=1',
    ...(caFile === '' ? [] : tls),
  ]
  const log = join(folder, 'log')
  const output = openSync(log, 'a')
  const child = spawn(program, args, { stdio: ['ignore', output, output] })
  const exited = once(child, 'exit')
  tether(child)
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL')
    await exited
    rmSync(folder, { recursive: true, force: true })
  }
  const origin = `http://${control}`
  try {
    const isUp = async (): Promise<true> => (await fetch(origin), true)
    await eventually('the store serves', isUp, { withinMs: START_LIMIT_MS })
  } catch (cause) {
    const why = readFileSync(log, 'utf8')
    await stop()
    throw new Error(`the store does not start: ${why}`, { cause })
  }
  return {
    url: `${scheme}://127.0.0.1:${port}`,
    caFile,
    rootToken,
    ...callsOf(origin, rootToken),
    [Symbol.asyncDispose]: stop,
  }
}

/** Writes `cert`, `key` and `ca`. @returns the path of the last */
function writeCertificate(folder: string, { certificatePem, keyPem, caPem }: ServerPair): string {
  writeFileSync(join(folder, 'cert'), certificatePem)
  writeFileSync(join(folder, 'key'), keyPem, { mode: 0o600 })
  writeFileSync(join(folder, 'ca'), caPem)
  return join(folder, 'ca')
}

type Calls = Omit<KvStore, 'url' | 'caFile' | 'rootToken' | typeof Symbol.asyncDispose>

function callsOf(origin: string, rootToken: string): Calls {
  /** A call that tools/kv-store/control.go has. */
  const control = async <Answer>(method: string, path: string, body: object): Promise<Answer> => {
    const answer = await fetch(`${origin}${path}`, { method, body: JSON.stringify(body) })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${text}`)
    return JSON.parse(text) as Answer
  }
  const ask: Calls['ask'] = async (method, path, body, namespace = '') => {
    const answer = await fetch(`${origin}${path}`, {
      method,
      headers: { 'X-Vault-Token': rootToken, 'X-Vault-Namespace': namespace },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    const json = text === '' ? null : (JSON.parse(text) as Record<string, unknown>)
    return { code: answer.status, json }
  }
  return {
    ask,
    put: async (path, data, namespace) => {
      const { code, json } = await ask('POST', `/v1/secret/data/${path}`, { data }, namespace)
      if (json === null || code !== 200) throw new Error(`${path}: ${code} ${JSON.stringify(json)}`)
      return (json['data'] as StoredVersion['metadata']).version
    },
    get: async (path, namespace) => {
      const { json } = await ask('GET', `/v1/secret/data/${path}`, undefined, namespace)
      return (json?.['data'] as StoredVersion | undefined) ?? null
    },
    makeToken: async (parts = {}) =>
      (await control<{ token: string }>('POST', '/tokens', parts)).token,
    expireToken: (token) => control('POST', '/tokens/expire', { token }),
    addNamespace: (path) => control('POST', '/namespaces', { path }),
    seal: (on) => control('PUT', '/sealed', { on }),
    listen: (on) => control('PUT', '/listening', { on }),
    fault: (fault) => control('PUT', '/fault', fault),
    requests: () => control('POST', '/requests/take', {}),
    backup: async () => (await control<{ backup: number }>('POST', '/backups', {})).backup,
    restore: (backup) => control('POST', '/backups/restore', { backup }),
  }
}
