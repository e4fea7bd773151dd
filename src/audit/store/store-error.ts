// Failures of the data store without what drivers put into theirs: statements, values, addresses, credentials.
import { AddressRefused } from '../../runtime/address-guard.ts'

/**
 * Whether the store is at fault (`unavailable`), the statement or its values (`refused`), the time (`timeout`), or the schema,
 * which a newer program made (`newer`).
 */
type StoreFailure = 'unavailable' | 'refused' | 'timeout' | 'newer'

/** A failure of the data store; its message may be logged. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
  readonly failure: StoreFailure

  constructor(failure: StoreFailure, message: string) {
    super(message)
    this.failure = failure
  }
}

/** The failure that an error of a driver stands for. It has no cause: that would be logged with it. */
export function storeErrorOf(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  if (error instanceof AddressRefused) return new StoreError('unavailable', error.message)
  const { code, state } = codesOf(error)
  const found = FAILURES.find(({ codes }) => codes.test(code)) ?? failureOf(state)
  const { failure, what } = found ?? UNKNOWN
  return new StoreError(failure, code === '' ? what : `${what} (${code})`)
}

const REFUSED = 'the data store refuses a value'
const TOOK_TOO_LONG = 'the data store took too long'

interface KnownFailure {
  readonly codes: RegExp
  readonly failure: StoreFailure
  readonly what: string
}

/** By SQLSTATE, by the names of MySQL, by the codes of Node and of SQLite. The first that matches. */
const FAILURES: readonly KnownFailure[] = [
  {
    codes: /^(?:57014|ER_QUERY_TIMEOUT|ER_STATEMENT_TIMEOUT|ER_QUERY_INTERRUPTED|STORE_TIMEOUT)$/,
    failure: 'timeout',
    what: TOOK_TOO_LONG,
  },
  {
    codes: /^(?:28...|ER_ACCESS_DENIED_ERROR|ER_DBACCESS_DENIED_ERROR)$/,
    failure: 'unavailable',
    what: 'the data store refuses the user or the password',
  },
  {
    codes: /^(?:3D...|ER_BAD_DB_ERROR)$/,
    failure: 'unavailable',
    what: 'the data store has no such database',
  },
  {
    codes:
      /^(?:ECONNREFUSED|ECONNRESET|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EPIPE|PROTOCOL_CONNECTION_LOST|PROTOCOL_SEQUENCE_TIMEOUT)$/,
    failure: 'unavailable',
    what: 'the data store cannot be reached',
  },
  {
    codes: /^(?:CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|ERR_TLS|HANDSHAKE)/,
    failure: 'unavailable',
    what: 'the TLS connection to the data store fails',
  },
  {
    // Data exceptions, integrity, program limits; too long a packet or a value; SQLite: too big, constraint, mismatch.
    codes:
      /^(?:22...|23...|54...|ER_DATA_TOO_LONG|ER_NET_PACKET_TOO_LARGE|ER_BAD_NULL_ERROR|ER_TRUNCATED_WRONG_VALUE\w*|ER_WARN_DATA_OUT_OF_RANGE|ER_CHECK_CONSTRAINT_VIOLATED|ER_SIGNAL_EXCEPTION|P0001|SQLITE_(?:18|19|20))$/,
    failure: 'refused',
    what: REFUSED,
  },
]

const UNKNOWN: Omit<KnownFailure, 'codes'> = {
  failure: 'unavailable',
  what: 'the data store cannot be used',
}

/** MariaDB has numbers of its own, for which the driver has names of MySQL: SQLSTATE is right in both. */
const failureOf = (state: string): Omit<KnownFailure, 'codes'> | null => {
  if (state === INTERRUPTED) return { failure: 'timeout', what: TOOK_TOO_LONG }
  return /^2[23]/.test(state) ? { failure: 'refused', what: REFUSED } : null
}

/** The SQLSTATE of a statement that ran into its time limit. */
const INTERRUPTED = '70100'

/** The codes of a driver's error; empty = none in the form of a code. */
function codesOf(error: unknown): { readonly code: string; readonly state: string } {
  const { code, errcode, sqlState } = (error ?? {}) as Readonly<Record<string, unknown>>
  if (typeof errcode === 'number') return { code: `SQLITE_${errcode & PRIMARY_CODE}`, state: '' }
  return { code: wordOf(code), state: wordOf(sqlState) }
}

const wordOf = (code: unknown): string =>
  typeof code === 'string' && /^\w{1,64}$/.test(code) ? code : ''

/** SQLite's extended codes have more bits. */
const PRIMARY_CODE = 0xff
