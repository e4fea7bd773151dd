// The commands that sign and push a release. Pure: tools/release-publish.ts runs them, or prints them with DRY_RUN=1.

/** A command with its arguments. */
export type Command = readonly [program: string, ...args: string[]]

/** What is signed, and with which key. */
export interface SignOptions {
  /** Path of cosign. */
  readonly cosign: string
  /** `repository@sha256:...`. */
  readonly image: string
  /** A file or a URL of a key, as `cosign --key` takes it; null = keyless, by the identity of the caller. */
  readonly key: string | null
}

/** The commands that sign dist/SHA256SUMS, and so every file of the release, and the image. */
export function signCommands({ cosign, image, key }: SignOptions): readonly Command[] {
  // With a key no transparency log is asked: the signature is checked offline.
  const how = key === null ? ['--yes'] : ['--yes', `--key=${key}`, '--tlog-upload=false']
  return [
    [cosign, 'sign-blob', ...how, '--bundle=dist/SHA256SUMS.sigstore.json', 'dist/SHA256SUMS'],
    [cosign, 'sign', ...how, image],
  ]
}

/** The commands that push the charts. @param charts names of the packages in dist/ @param to such as `oci://registry/charts` */
export const pushCommands = (
  helm: string,
  charts: readonly string[],
  to: string,
): readonly Command[] => charts.map((name): Command => [helm, 'push', `dist/${name}`, to])
