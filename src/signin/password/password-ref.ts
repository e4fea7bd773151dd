// Where the hash of a person's password is (contract 24.1, 25.5).
import type { User, UserSpec } from '../../api/user.gen.ts'
import { isDnsSubdomain } from '../../domain/dns-name.ts'
import { type Untyped, fieldsOf, isAbsent } from '../../domain/json/json.ts'

/** A data key of a Secret in the sign-in namespace. */
export interface PasswordRef {
  /** Name of the Secret. */
  readonly name: string
  readonly key: string
}

const DEFAULT_KEY = 'password'
/** As the API server has data keys of Secrets. */
const DATA_KEY = /^(?!\.{1,2}$)[-._a-zA-Z0-9]{1,253}$/

/** The reference of a User; null = there is none, or it is malformed: this person signs in with no password. */
export function passwordRefOf({ spec }: Pick<User, 'spec'>): PasswordRef | null {
  const { passwordRef }: Untyped<UserSpec> = fieldsOf(spec)
  const { name, key } = fieldsOf(passwordRef)
  if (typeof name !== 'string' || !isDnsSubdomain(name)) return null
  if (isAbsent(key) || key === '') return { name, key: DEFAULT_KEY }
  return typeof key === 'string' && DATA_KEY.test(key) ? { name, key } : null
}
