import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, '../../config/direct-endpoint')

/** The script that denies revoked tokens. */
export const DENY_REVOKED = join(FOLDER, 'deny-revoked.sh')

/** A shipped authentication file, as it is. */
export function shipped(name: 'authentication' | 'authentication-with-webhook'): string {
  return readFileSync(join(FOLDER, `${name}.yaml`), 'utf8')
}
