// Hashes of passwords (contract 25.5): scrypt with one set of parameters, so that every attempt takes the same time.
import { scrypt, timingSafeEqual } from 'node:crypto'

/** A hash, as its text has it. */
interface PasswordHash {
  readonly salt: Buffer
  readonly digest: Buffer
}

/** Bytes of a salt. */
export const SALT_BYTES = 16
const DIGEST_BYTES = 32

const LOG2_COST = 17
const BLOCK_SIZE = 8
const COST = 2 ** LOG2_COST
/** 128 MiB, and room for the rest of the computation, which Node counts too. */
const MOST_MEMORY = 128 * COST * BLOCK_SIZE + 1024 * 1024

const PREFIX = `$scrypt$ln=${LOG2_COST},r=${BLOCK_SIZE},p=1$`
const SALT_CHARACTERS = 22
const DIGEST_CHARACTERS = 43

/** The text of a hash, as passlib writes it: `$scrypt$ln=17,r=8,p=1$<salt>$<hash>`, base64 without `=`. */
export const passwordHashText = ({ salt, digest }: PasswordHash): string =>
  `${PREFIX}${unpadded(salt)}$${unpadded(digest)}`

/**
 * The hash in the text of a Secret, which may end with a line break; null = any other text, such as a hash with other
 * parameters.
 */
export function passwordHashIn(text: string): PasswordHash | null {
  const line = text.replace(/\r?\n$/, '')
  const [salt = '', digest = '', ...rest] = line.slice(PREFIX.length).split('$')
  const isHash = line.startsWith(PREFIX) && rest.length === 0
  if (!isHash || salt.length !== SALT_CHARACTERS || digest.length !== DIGEST_CHARACTERS) return null
  const hash = { salt: Buffer.from(salt, 'base64'), digest: Buffer.from(digest, 'base64') }
  // Node skips characters that base64 does not have: the text must be the one that we would write.
  return passwordHashText(hash) === line ? hash : null
}

/** The hash that attempts without one are compared with. No password has it: its digest is none of scrypt. */
export const NO_HASH: PasswordHash = {
  salt: Buffer.alloc(SALT_BYTES),
  digest: Buffer.alloc(DIGEST_BYTES),
}

const LEAST_CHARACTERS = 12
const MOST_CHARACTERS = 256

/** Why a text can't be a password, as a clause such as `has fewer than 12 characters`; null = it can. */
export function passwordFault(password: string): string | null {
  // Text of more code units than two for each character is too long, and is not read further.
  const count = password.length > 2 * MOST_CHARACTERS ? Infinity : Array.from(password).length
  if (count < LEAST_CHARACTERS) return `has fewer than ${LEAST_CHARACTERS} characters`
  if (count > MOST_CHARACTERS) return `has more than ${MOST_CHARACTERS} characters`
  if (/\p{Cc}/u.test(password)) return 'has a control character'
  return password.isWellFormed() ? null : 'has half of a character'
}

/**
 * The hash of a password. It takes 128 MiB of memory and about half a second of a core, outside of the event loop.
 *
 * @param salt random, SALT_BYTES long
 */
export const hashPassword = async (password: string, salt: Buffer): Promise<PasswordHash> => ({
  salt,
  digest: await scryptOf(password, salt),
})

/** Whether the password has that hash. It takes as long for every password and hash. */
export async function hasHash(password: string, { salt, digest }: PasswordHash): Promise<boolean> {
  return timingSafeEqual(await scryptOf(password, salt), digest)
}

const scryptOf = (password: string, salt: Buffer): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const options = { N: COST, r: BLOCK_SIZE, p: 1, maxmem: MOST_MEMORY }
    scrypt(password, salt, DIGEST_BYTES, options, (error, digest) =>
      error === null ? resolve(digest) : reject(error),
    )
  })

const unpadded = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '')
