// The sign-in that a command line means: which platform, and which key (contract 27.2).
import { parseTimestamp } from '../../domain/time.ts'
import { httpsSender } from '../shared/https.ts'
import type { Platform } from './platform.ts'
import { type SignInTerminal, signIn } from './sign-in.ts'
import { type SignIn, type SignIns, changeSignIns } from './sign-ins-file.ts'

/** The platform that is meant. */
type ChosenPlatform =
  | { readonly kind: 'chosen'; readonly url: string; readonly signIn: SignIn | null }
  /** The line has no URL, and the sign-ins leave more or less than one. */
  | { readonly kind: 'unclear'; readonly fault: string }

/** Chooses a platform. @param url as the command line has it; null = the only sign-in is meant */
export function choosePlatform(signIns: SignIns, url: string | null): ChosenPlatform {
  if (url !== null) return { kind: 'chosen', url, signIn: signIns.get(url) ?? null }
  const [only, ...others] = signIns
  if (only === undefined)
    return {
      kind: 'unclear',
      fault: 'there is no sign-in: management-operator login --url <url> begins one',
    }
  if (others.length > 0)
    return {
      kind: 'unclear',
      fault: `there are sign-ins at several platforms, name one by --url: ${[...signIns.keys()].join(', ')}`,
    }
  return { kind: 'chosen', url: only[0], signIn: only[1] }
}

/** Whether the key has ended by itself; it may also have been ended before. */
export const isOver = ({ expirationTimestamp }: SignIn, nowMs: number): boolean =>
  expirationTimestamp !== null && (parseTimestamp(expirationTimestamp) ?? 0) <= nowMs

/** The platform, trusted by that CA. @param ca PEM; null = the CAs of Node are enough */
export const platformAt = (url: string, ca: string | null): Platform => ({
  url,
  send: httpsSender(ca),
})

/** Lets the person sign in, and keeps the key. @throws Error as signIn and changeSignIns do */
export async function signInAndKeep(
  { url, ca, path }: { readonly url: string; readonly ca: string | null; readonly path: string },
  terminal: SignInTerminal,
): Promise<SignIn> {
  const made = { ...(await signIn(platformAt(url, ca), terminal)), ca }
  await changeSignIns(path, (signIns) => void signIns.set(url, made))
  return made
}
