// The provenance of a release: an in-toto statement with a SLSA v1 predicate. It has no times, so that two builds of one
// commit give the same bytes.

/** The file of a release that has the statement. */
export const PROVENANCE = 'provenance.intoto.json'

/** Where the release comes from. */
export interface Source {
  /** URL of the repository. */
  readonly repository: string
  /** The commit, 40 hex digits. */
  readonly commit: string
  /** `repository@sha256:...` of the image that the manifests name. */
  readonly image: string
  /** Version of Node that ran the build. */
  readonly node: string
}

const BUILD_TYPE = 'make-release/v1'

/** The statement about these files: SHA-256 in hex by name. */
export function provenanceOf(digests: ReadonlyMap<string, string>, source: Source): object {
  const { repository, commit, image, node } = source
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [...digests].map(([name, sha256]) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: `${repository}/blob/${commit}/tools/release.ts#${BUILD_TYPE}`,
        externalParameters: { image },
        internalParameters: { node },
        resolvedDependencies: [
          { uri: `git+${repository}@${commit}`, digest: { gitCommit: commit } },
        ],
      },
      runDetails: { builder: { id: `${repository}/blob/${commit}/Makefile#release` } },
    },
  }
}
