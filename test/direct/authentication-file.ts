// The authentication file of a stock server: as shipped, as deny-revoked.sh rewrites it, and when it takes effect.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import { eventually } from '../support/eventually.ts'
import type { StockServer } from '../support/stock-api-server.ts'

/** The part of an authentication file that tests read. */
export interface Authentication {
  readonly jwt: readonly [
    {
      readonly issuer: { readonly url: string; readonly audiences: string[] }
      readonly userValidationRules: readonly { message: string; expression: string }[]
    },
  ]
}

/** Exit code and output of a run of deny-revoked.sh. */
export interface ScriptResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs deny-revoked.sh with these variables; of the test's own environment it sees only PATH. */
export function runDenyRevoked(
  args: readonly string[],
  variables: NodeJS.ProcessEnv = {},
): Promise<ScriptResult> {
  const { PATH } = process.env
  const env = { PATH, ...variables }
  return new Promise((resolve) => {
    const child = execFile('sh', [DENY_REVOKED, ...args], { env }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    )
  })
}

/** The deny rules that the script has written into a file. */
export function denyRules(path: string): Authentication['jwt'][0]['userValidationRules'] {
  const { jwt } = parse(readFileSync(path, 'utf8')) as Authentication
  return jwt[0].userValidationRules.filter(({ message }) => message === 'the token is revoked')
}

/** The token ids (jti) that these rules deny, in the order of the file. */
export function deniedIn(path: string): readonly string[] {
  return denyRules(path).flatMap(({ expression }) =>
    [...expression.matchAll(/^'JTI=(.*)', \/\/ until/gm)].map(([, uid]) => uid ?? ''),
  )
}

const FOLDER = join(import.meta.dirname, '../../config/direct-endpoint')

/** The script that denies revoked tokens. */
export const DENY_REVOKED = join(FOLDER, 'deny-revoked.sh')

/** The text of an authentication file of config/direct-endpoint. */
export function shippedFile(name: 'authentication' | 'authentication-with-webhook'): string {
  return readFileSync(join(FOLDER, `${name}.yaml`), 'utf8')
}

/** The docs promise 20 s at most; a busy machine takes longer. */
const WITHIN_A_MINUTE = { withinMs: 60_000 }

/**
 * Waits until the server accepts or refuses a token; prints and returns the milliseconds that it took.
 *
 * @param token called for each attempt: a server caches accepted tokens for 10 s, so that a fresh token each time
 *   shows its configuration, and the same token each time shows the cache too
 */
export async function timeUntilServer(
  what: string,
  server: StockServer,
  wanted: 'accepted' | 'refused',
  token: () => string,
): Promise<number> {
  const startMs = performance.now()
  await eventually(
    what,
    async () => ((await server.whoIs(token())) !== null) === (wanted === 'accepted') || undefined,
    WITHIN_A_MINUTE,
  )
  const tookMs = performance.now() - startMs
  console.log(`${what}: after ${(tookMs / 1000).toFixed(1)} s`)
  return tookMs
}

const HASH =
  /^apiserver_authentication_config_controller_last_config_info\{.*[{,]hash="sha256:(\w+)"/m

/** Whether the server has loaded the authentication file in its present content, by its metrics. */
export async function isAuthenticationConfigInForce({
  authenticationFile,
  kubectl,
}: Pick<StockServer, 'authenticationFile' | 'kubectl'>): Promise<boolean> {
  const { stdout } = await kubectl(['get', '--raw', '/metrics'])
  const hash = createHash('sha256').update(await readFile(authenticationFile))
  return HASH.exec(stdout)?.[1] === hash.digest('hex')
}
