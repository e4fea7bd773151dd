/** The image of an overlay, as kustomize takes it. */
export interface ImageOverride {
  readonly name: string
  readonly newName: string
  readonly newTag?: string
  readonly digest?: string
}

/** The name that the manifests use. */
const SHIPPED = 'management-operator'

const REFERENCE =
  /^(?<name>[\w.-]+(?::\d+(?=\/))?(?:\/[\w.-]+)*)(?::(?<tag>\w[\w.-]{0,127}))?(?:@(?<digest>sha256:[0-9a-f]{64}))?$/

/**
 * Reads an image reference. Without a tag and a digest the manifests keep the tag of this release; a
 * digest wins over a tag.
 *
 * @throws Error for what is none
 */
export function imageOverride(reference: string): ImageOverride {
  const { name, tag, digest } = REFERENCE.exec(reference)?.groups ?? {}
  if (name === undefined)
    throw new Error(`no image ${JSON.stringify(reference)}: give name, name:tag or name@sha256:...`)
  const newName = { name: SHIPPED, newName: name }
  if (digest !== undefined) return { ...newName, digest }
  return tag === undefined ? newName : { ...newName, newTag: tag }
}
