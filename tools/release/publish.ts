// The commands that sign and push a release. Pure: tools/release-publish.ts runs them, or prints them with DRY_RUN=1.

import { SIGNATURE, SUMS } from './sums.ts'

/** A command with its arguments. */
export type Command = readonly [program: string, ...args: string[]]

/** The command as it can be typed into a shell. */
export const shownCommand = (command: Command): string =>
  command
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(' ')

/** Whether commands are only printed. @throws Error for a word that may mean yes or no */
export function parseDryRun(text: string): boolean {
  if (text !== '' && text !== '1')
    throw new Error(`DRY_RUN is ${JSON.stringify(text)}: write 1, or leave it out`)
  return text === '1'
}

/** What is signed, and with which key. */
export interface SignOptions {
  /** Path of cosign. */
  readonly cosign: string
  /** `repository@sha256:...`. */
  readonly image: string
  /** A file or a URL of a key, as `cosign --key` takes it; null = keyless, by the identity of the caller. */
  readonly key: string | null
}

/** Files without any service, as `cosign signing-config create` and `cosign trusted-root create` write them. */
const OFFLINE = 'tools/release/offline'

/**
 * The commands that sign dist/SHA256SUMS, and so every file of the release, and the image.
 *
 * With a key no transparency log and no other service is asked: the signature is made and checked offline.
 */
export function signCommands({ cosign, image, key }: SignOptions): readonly Command[] {
  const offline = [
    `--key=${key}`,
    `--signing-config=${OFFLINE}/signing-config.json`,
    `--trusted-root=${OFFLINE}/trusted-root.json`,
  ]
  const how = ['--yes', ...(key === null ? [] : offline)]
  return [
    [cosign, 'sign-blob', ...how, `--bundle=dist/${SIGNATURE}`, `dist/${SUMS}`],
    [cosign, 'sign', ...how, image],
  ]
}

/** The commands that push the charts. @param charts names of the packages in dist/ @param to such as `oci://registry/charts` */
export const pushCommands = (
  helm: string,
  charts: readonly string[],
  to: string,
): readonly Command[] => charts.map((name): Command => [helm, 'push', `dist/${name}`, to])
