import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { StockServer } from '../support/stock-server.ts'

const HASH =
  /^apiserver_authentication_config_controller_last_config_info\{.*[{,]hash="sha256:(\w+)"/m

/** Whether the authentication file as it is now is the one in force, as the server's metrics tell it. */
export async function isInForce({
  authenticationFile,
  kubectl,
}: Pick<StockServer, 'authenticationFile' | 'kubectl'>): Promise<boolean> {
  const { stdout } = await kubectl(['get', '--raw', '/metrics'])
  const hash = createHash('sha256').update(await readFile(authenticationFile))
  return HASH.exec(stdout)?.[1] === hash.digest('hex')
}
