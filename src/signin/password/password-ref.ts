// Where the hash of a person's password is (contract 24.1, 25.5).
import type { User, UserSpec } from '../../api/user.gen.ts'
import { isDataKey } from '../../domain/data-key.ts'
import { isDnsSubdomain } from '../../domain/dns-name.ts'
import { type Untyped, fieldsOf, isAbsent } from '../../domain/json/json.ts'

/** A data key of a Secret in the sign-in namespace. */
export interface PasswordRef {
  /** Name of the Secret. */
  readonly name: string
  readonly key: string
}

const DEFAULT_KEY = 'password'

/** The reference of a User; null = there is none, or it is malformed: this person signs in with no password. */
export function passwordRefOf({ spec }: Pick<User, 'spec'>): PasswordRef | null {
  const { passwordRef }: Untyped<UserSpec> = fieldsOf(spec)
  const { name, key } = fieldsOf(passwordRef)
  if (typeof name !== 'string' || !isDnsSubdomain(name)) return null
  if (isAbsent(key) || key === '') return { name, key: DEFAULT_KEY }
  return typeof key === 'string' && isDataKey(key) ? { name, key } : null
}
