import { CHAIN_STATE_MESSAGES } from '../../domain/accesskey/owner-chain.ts'
import type { Owner, TokenEnd } from '../indexes/tokens.ts'

/** Why tokens under this owner are not valid, as a clause. */
export function ownerMessageOf({ key }: Owner, { state, above }: TokenEnd): string {
  const own = `access key ${key.name}`
  const whose = above === null ? own : `access key ${above}, which ${own} depends on,`
  return `${whose} ${CHAIN_STATE_MESSAGES[state]}`
}
