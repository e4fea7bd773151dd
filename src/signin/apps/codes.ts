// Authorization codes (contract 26.3): everything that the request and the person decided, encrypted so that only the platform's
// sign-in processes read it. Nothing is stored until a code is exchanged.
import { CompactEncrypt, compactDecrypt } from 'jose'
import { fieldsOf, parseJsonMap, stringOf } from '../../domain/json/json.ts'
import type { SealingKeys } from '../sealing/seal.ts'

/** What a code stands for. */
interface AppCode {
  /** Random: names the grant that the code makes. */
  readonly id: string
  readonly clientId: string
  readonly redirectUri: string
  /** PKCE challenge; null = the app sent none. */
  readonly challenge: string | null
  readonly scope: string
  readonly nonce: string | null
  readonly user: string
  readonly userUid: string
  /** Name of the session in which the person was. */
  readonly session: string
  /** When the person signed in, in epoch milliseconds. */
  readonly authMs: number
  /** When the code was made, in epoch milliseconds. */
  readonly madeMs: number
}

const CODE_MS = 60_000
const TYPE = 'app-code'
const LONGEST = 8192

/** The code, as the app gets it. */
export const sealCode = (code: AppCode, [{ id, key }]: SealingKeys): Promise<string> =>
  new CompactEncrypt(Buffer.from(JSON.stringify(code)))
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', typ: TYPE, kid: id })
    .encrypt(key)

/** The content of a code; null = it is none, was changed, or is older than a minute. */
export async function openCode(
  text: string,
  keys: SealingKeys,
  nowMs: number,
): Promise<AppCode | null> {
  const code = text.length > LONGEST ? null : codeIn(await decrypted(text, keys))
  const isFresh = code !== null && nowMs - code.madeMs <= CODE_MS && code.madeMs - nowMs <= CODE_MS
  return isFresh ? code : null
}

async function decrypted(text: string, keys: SealingKeys): Promise<string> {
  try {
    const { plaintext } = await compactDecrypt(
      text,
      ({ kid, typ }) => {
        const found = keys.find(({ id }) => id === kid)
        if (found === undefined || typ !== TYPE) throw new Error('no key of codes')
        return found.key
      },
      { keyManagementAlgorithms: ['dir'], contentEncryptionAlgorithms: ['A256GCM'] },
    )
    return Buffer.from(plaintext).toString('utf8')
  } catch {
    return ''
  }
}

function codeIn(text: string): AppCode | null {
  const fields = fieldsOf(parseJsonMap(text))
  const names = ['id', 'clientId', 'redirectUri', 'scope', 'user', 'userUid', 'session'] as const
  const texts = names.map((name) => stringOf(fields[name]))
  const { authMs, madeMs, challenge, nonce } = fields
  if (texts.includes(undefined) || typeof authMs !== 'number' || typeof madeMs !== 'number')
    return null
  const [id = '', clientId = '', redirectUri = '', scope = '', user = '', userUid = ''] = texts
  return {
    id,
    clientId,
    redirectUri,
    challenge: stringOf(challenge) ?? null,
    scope,
    nonce: stringOf(nonce) ?? null,
    user,
    userUid,
    session: texts[6] ?? '',
    authMs,
    madeMs,
  }
}
