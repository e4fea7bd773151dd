// The image that a release names: by its digest, because a tag can move to another image.

/** An image as `repository@sha256:...`. */
export interface ReleaseImage {
  readonly repository: string
  /** `sha256:` and 64 hex digits. */
  readonly digest: string
}

const IMAGE =
  /^(?<repository>[a-z0-9.-]+(?::\d+)?(?:\/[a-z0-9._-]+)+)@(?<digest>sha256:[0-9a-f]{64})$/

/** The image of this text. @throws Error that says what is accepted */
export function parseImage(text: string): ReleaseImage {
  const { repository, digest } = IMAGE.exec(text)?.groups ?? {}
  if (repository === undefined || digest === undefined)
    throw new Error(
      `IMAGE is ${JSON.stringify(text)}: write it by digest, such as registry.example.com/platform/management-operator@sha256:... (docker push prints it)`,
    )
  return { repository, digest }
}
