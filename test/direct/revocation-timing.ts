import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { eventually } from '../support/eventually.ts'
import type { StockServer } from '../support/stock-api-server.ts'

/** Longer than anything here takes: the docs promise 20 s at most. */
const BOUND = { withinMs: 60_000 }

/**
 * Waits until the server refuses, or accepts, a token; prints how long that took and returns it, in
 * milliseconds. `token` is asked for at each look: the same one again, or a fresh one each time, as
 * the server remembers for 10 s whom it has accepted.
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
    BOUND,
  )
  const tookMs = performance.now() - startMs
  console.log(`${what}: after ${(tookMs / 1000).toFixed(1)} s`)
  return tookMs
}

const HASH =
  /^apiserver_authentication_config_controller_last_config_info\{.*[{,]hash="sha256:(\w+)"/m

/** Whether the authentication file as it is now is the one in force, as the server's metrics tell it. */
export async function isAuthenticationConfigInForce({
  authenticationFile,
  kubectl,
}: Pick<StockServer, 'authenticationFile' | 'kubectl'>): Promise<boolean> {
  const { stdout } = await kubectl(['get', '--raw', '/metrics'])
  const hash = createHash('sha256').update(await readFile(authenticationFile))
  return HASH.exec(stdout)?.[1] === hash.digest('hex')
}
