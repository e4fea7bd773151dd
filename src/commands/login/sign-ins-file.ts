// The file with the keys of a person's sign-ins, one for each platform (contract 27.2). It is used only where this user
// alone can read and change it.
import type { Stats } from 'node:fs'
import { lstat, mkdir, open } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { fieldsOf, isMap, parseJsonMap } from '../../domain/json/json.ts'
import { parseTimestamp } from '../../domain/time.ts'
import { OPEN_TO_READ, replaceKeptFile } from '../../runtime/kept-file.ts'
import type { ProcessInputs } from '../shared/flags.ts'

/** A sign-in at one platform. */
export interface SignIn {
  /** Secret. */
  readonly accessKey: string
  /** When the key ends by itself, RFC 3339; null = never. */
  readonly expirationTimestamp: string | null
  /** PEM of the CA of the platform's certificate; null = the CAs of Node are enough. */
  readonly ca: string | null
}

/** Sign-ins by the address of the platform. */
export type SignIns = ReadonlyMap<string, SignIn>

/** The path of the file: in `XDG_CONFIG_HOME`, else in `~/.config`. */
export function signInsPath({ env }: Pick<ProcessInputs, 'env'>): string {
  const configured = env('XDG_CONFIG_HOME') ?? ''
  // A relative one is ignored, as the XDG specification demands.
  const folder = isAbsolute(configured) ? configured : join(homedir(), '.config')
  return join(folder, 'management-operator', 'sign-ins.json')
}

const MOST_BYTES = 1024 * 1024

/**
 * The sign-ins in the file; none where there is no file.
 *
 * @throws Error that says what to do when others can read file or folder, or the file is not one of `login`
 */
export async function readSignIns(path: string): Promise<SignIns> {
  const folder = dirname(path)
  const found = await lstat(folder).catch(unlessAbsent)
  if (found === null) return new Map()
  if (!found.isDirectory()) throw new Error(`${folder} is not a folder: remove it`)
  checkOwner(folder, found, '700')
  const text = await textOf(path)
  if (text === null) return new Map()
  const signIns = signInsIn(text)
  if (signIns === null) throw new Error(`${path} has no sign-ins: remove it, and sign in again`)
  return signIns
}

/**
 * Changes the sign-ins in the file, which is replaced at once, or not at all.
 *
 * @throws Error as readSignIns does, or of node:fs
 */
export async function changeSignIns(
  path: string,
  change: (signIns: Map<string, SignIn>) => void,
): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const signIns = new Map(await readSignIns(path))
  change(signIns)
  const text = JSON.stringify({ signIns: Object.fromEntries(signIns) }, null, 2)
  await replaceKeptFile(path, [`${text}\n`])
}

async function textOf(path: string): Promise<string | null> {
  await using file = await open(path, OPEN_TO_READ).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ELOOP') return unlessAbsent(error)
    throw new Error(`${path} is a link: remove it, and sign in again`)
  })
  if (file === null) return null
  const found = await file.stat()
  if (!found.isFile()) throw new Error(`${path} is not a file: remove it`)
  checkOwner(path, found, '600')
  if (found.size > MOST_BYTES) throw new Error(`${path} is too large: remove it, and sign in again`)
  return file.readFile('utf8')
}

/** Refuses what belongs to another user, or is open to others. Windows has neither owners nor modes of this kind. */
function checkOwner(path: string, { uid, mode }: Stats, wanted: '600' | '700'): void {
  const user = process.getuid?.()
  if (user === undefined) return
  if (uid !== user) throw new Error(`${path} belongs to another user: remove it`)
  if ((mode & 0o077) !== 0)
    throw new Error(
      `${path} is open to other users: end the sign-ins in it, then run chmod ${wanted} ${path}`,
    )
}

function unlessAbsent(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
  throw error
}

/** The sign-ins in the text of the file; null = it is malformed, in whole or in part. */
function signInsIn(text: string): SignIns | null {
  const { signIns } = parseJsonMap(text) ?? {}
  if (!isMap(signIns)) return null
  const entries = Object.entries(signIns).map(([url, one]) => [url, signInOf(one)] as const)
  const found = new Map<string, SignIn>()
  for (const [url, signIn] of entries) {
    if (signIn === null) return null
    found.set(url, signIn)
  }
  return found
}

function signInOf(value: unknown): SignIn | null {
  const { accessKey, expirationTimestamp, ca } = fieldsOf(value)
  const isEnd = expirationTimestamp === null || parseTimestamp(expirationTimestamp) !== null
  if (!isAccessKey(accessKey) || !isEnd || !(ca === null || typeof ca === 'string')) return null
  return { accessKey, expirationTimestamp: expirationTimestamp as string | null, ca }
}

/** Whether the value has the form of an access key (contract 1.4). */
export const isAccessKey = (value: unknown): value is string =>
  typeof value === 'string' && /^[A-Za-z0-9_-]{32,256}$/.test(value)
