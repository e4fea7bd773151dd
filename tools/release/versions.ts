// The version of a release, which several files name: they must agree. Pure.

/** What the files name. */
export interface NamedVersions {
  /** `version` of package.json. */
  readonly package: string
  /** Of each Chart.yaml. */
  readonly charts: readonly ChartVersions[]
  /** The text of config/components/release/kustomization.yaml. */
  readonly manifests: string
  /** The text of CHANGELOG.md. */
  readonly changelog: string
}

/** The versions in a Chart.yaml. */
interface ChartVersions {
  readonly name: string
  readonly version: string
  readonly appVersion: string
}

/** Each disagreement with package.json, as a sentence that says what to write; empty = all agree. */
export function versionFaults(named: NamedVersions): readonly string[] {
  const { package: version, charts, manifests, changelog } = named
  const ofCharts = charts.flatMap(({ name, version: ofChart, appVersion }) =>
    Object.entries({ version: ofChart, appVersion })
      .filter(([, value]) => value !== version)
      .map(([field, value]) => `charts/${name}/Chart.yaml: ${field} is ${value}, write ${version}`),
  )
  return [
    ...ofCharts,
    ...['app.kubernetes.io/version', 'newTag']
      .map((field) => [field, fieldIn(manifests, field)] as const)
      .filter(([, value]) => value !== version)
      .map(
        ([field, value]) =>
          `config/components/release/kustomization.yaml: ${field} is ${value}, write ${version}`,
      ),
    ...(newestIn(changelog) === version
      ? []
      : [`CHANGELOG.md: the newest version is ${newestIn(changelog) ?? 'none'}, cut ${version}`]),
  ]
}

const fieldIn = (yaml: string, field: string): string | undefined =>
  yaml
    .split('\n')
    .map((line) => line.trim())
    .find((line) => line.startsWith(`${field}: `))
    ?.slice(field.length + 2)

/** The version of the first heading below `Unreleased`; undefined = there is none. */
const newestIn = (changelog: string): string | undefined =>
  /^## (?!Unreleased)\[?(\d[^\s\]]*)/m.exec(changelog)?.[1]
