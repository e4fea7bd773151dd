// The API server of a second cluster, a stock one, with nothing of the product but the file that it
// gets by --authentication-config. It starts in about three seconds.
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, type Dispatcher, request } from 'undici'
import { afterAll } from 'vitest'
import type { Access } from '../../tools/control-plane/access.ts'
import { type ControlPlane, startControlPlane } from '../../tools/control-plane/control-plane.ts'
import { kubeconfig } from '../../tools/control-plane/kubeconfig.ts'

/** The user that a server sees, as `kubectl auth whoami` shows it. */
export interface Identity {
  readonly username: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

/** A watch that is held open until the test file ends. */
export interface OpenWatch {
  /** All bytes so far, as text. */
  readonly received: string
  /** Whether the server has ended it. */
  readonly hasEnded: boolean
}

/** A server that verifies tokens. Nothing else runs in its cluster, no controllers either. */
export interface StockServer
  extends Access,
    Pick<ControlPlane, 'url' | 'auditLog' | 'apiServer' | 'adminKubeconfig'> {
  /** The certificate authority of the server; PEM. */
  readonly caPem: string
  /** What --authentication-config names. */
  readonly authenticationFile: string
  /** Replaces the file that --authorization-config names, by a rename. @throws Error without such a file */
  authorize(authorization: string): Promise<void>
  /** Replaces the authentication file, by a rename. */
  configure(authentication: string): Promise<void>
  /** The user of a bearer token; null for 401. @throws Error for any other refusal */
  whoIs(token: string): Promise<Identity | null>
  /** The status code of a GET with a bearer token. */
  get(path: string, token: string): Promise<number>
  /** Opens a watch with a bearer token. @throws Error when it is refused */
  watch(path: string, token: string): Promise<OpenWatch>
  /** Writes a kubeconfig with a bearer token and returns its path; `name` names the file. */
  tokenKubeconfig(name: string, token: string): Promise<string>
}

const SELF_REVIEW = '/apis/authentication.k8s.io/v1/selfsubjectreviews'

/** Options of startStockServer. */
interface StockServerOptions {
  /** Text of the file that --authorization-config names; absent = RBAC alone. */
  readonly authorization?: string
  /** As in ControlPlaneOptions. */
  readonly audit?: true
}

/**
 * Starts a server with that text as its authentication file; it is stopped after the last test of the
 * file. Call it while the test file loads.
 */
export async function startStockServer(
  authentication: string,
  { authorization, audit }: StockServerOptions = {},
): Promise<StockServer> {
  const folder = await mkdtemp(join(tmpdir(), 'authentication-'))
  afterAll(() => rm(folder, { recursive: true }))
  const authenticationFile = join(folder, 'authentication.yaml')
  await writeFile(authenticationFile, authentication)
  const authorizationFile = join(folder, 'authorization.yaml')
  if (authorization !== undefined) await writeFile(authorizationFile, authorization)
  const plane = await startControlPlane({
    controllers: 'none',
    apiServerFlags: [
      `--authentication-config=${authenticationFile}`,
      ...(authorization === undefined ? [] : [`--authorization-config=${authorizationFile}`]),
    ],
    ...(audit ? { audit } : {}),
    log: console.log,
  })
  afterAll(() => plane.stop())
  const caPem = await readFile(plane.caFile, 'utf8')
  return {
    ...plane,
    ...callsOf(plane.url, caPem),
    caPem,
    authenticationFile,
    configure: (text) => replace(authenticationFile, text),
    authorize: async (text) => {
      if (authorization === undefined) throw new Error('the server has no authorization file')
      await replace(authorizationFile, text)
    },
    tokenKubeconfig: async (name, token) => {
      const tokenFile = join(folder, `${name}.token`)
      const file = join(folder, `${name}.kubeconfig`)
      await writeFile(tokenFile, token)
      await writeFile(file, kubeconfig(name, { url: plane.url, caPem }, { tokenFile }))
      return file
    },
  }
}

async function replace(file: string, text: string): Promise<void> {
  await writeFile(`${file}.next`, text)
  await rename(`${file}.next`, file)
}

function callsOf(origin: string, caPem: string): Pick<StockServer, 'whoIs' | 'get' | 'watch'> {
  // Callers retry a request that the server does not answer.
  const dispatcher = new Agent({
    connect: { ca: caPem },
    allowH2: false,
    headersTimeout: 10_000,
    bodyTimeout: 0,
  })
  afterAll(() => dispatcher.destroy())
  const call = (path: string, token: string, body?: object): Promise<Dispatcher.ResponseData> =>
    request(`${origin}${path}`, {
      dispatcher,
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    })
  return {
    whoIs: async (token) => {
      const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
      const { statusCode, body } = await call(SELF_REVIEW, token, review)
      const text = await body.text()
      if (statusCode === 401) return null
      if (statusCode !== 201) throw new Error(`a self review answers ${statusCode}: ${text}`)
      return (JSON.parse(text) as { readonly status: { readonly userInfo: Identity } }).status
        .userInfo
    },
    get: async (path, token) => {
      const { statusCode, body } = await call(path, token)
      await body.dump()
      return statusCode
    },
    watch: async (path, token) => {
      const { statusCode, body } = await call(`${path}?watch=1`, token)
      if (statusCode !== 200) throw new Error(`a watch answers ${statusCode}`)
      const state = { received: '', hasEnded: false }
      body.setEncoding('utf8').on('data', (text: string) => (state.received += text))
      body.once('close', () => (state.hasEnded = true)).on('error', () => undefined)
      return state
    },
  }
}
