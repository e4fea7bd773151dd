// `make release` in a checkout of its own: what it refuses, and what it writes, twice.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { ensureHelm } from '../../../tools/helm/program.ts'
import { programOrSkip } from '../../support/program-or-skip.ts'
import type { Ended } from '../../support/run-command.ts'
import { createReleaseCheckout, FILES, IMAGE, REPOSITORY } from './release-checkout.ts'

const helm = await programOrSkip(ensureHelm)
const checkout = await createReleaseCheckout()
const { root, run, commit, textOf, written } = checkout
afterAll(() => checkout.remove())

/** A package in the SBOM, with the packages that are below its folder. */
interface Component {
  readonly group?: string
  readonly name: string
  readonly version: string
  readonly components?: readonly Component[]
}

const namesIn = (components: readonly Component[]): readonly string[] =>
  components.flatMap(({ group, name, version, components: below = [] }) => [
    `${group ? `${group}/` : ''}${name}@${version}`,
    ...namesIn(below),
  ])

const release = (env: NodeJS.ProcessEnv = {}): Promise<Ended> =>
  run(process.execPath, ['tools/release.ts'], { IMAGE, REPOSITORY, ...env })

describe('make release refuses, with what to do,', () => {
  test('an image without a digest (34.4)', async () => {
    const { code, stderr } = await release({ IMAGE: 'registry.example.com/mo:1.2.3' })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^IMAGE is "registry\.example\.com\/mo:1\.2\.3": write it by digest/)
  })

  test('a call without a repository where the commit can be read (34.4)', async () => {
    const { code, stderr } = await release({ REPOSITORY: '' })
    expect(code).toBe(1)
    expect(stderr).toBe('REPOSITORY is not a https:// URL: write where the commit can be read\n')
  })

  test('a changelog that is not cut (34.4)', async () => {
    const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
    const uncut = changelog.replaceAll(/^## \d.*\n/gm, '')
    writeFileSync(join(root, 'CHANGELOG.md'), uncut)
    expect(await release()).toMatchObject({
      code: 1,
      stderr: 'versions differ:\nCHANGELOG.md: the newest version is none, cut 0.1.0\n',
    })
    checkout.cutChangelog()
  })

  test('a checkout with changes, which it names (34.4)', async () => {
    const { code, stderr } = await release()
    expect(code).toBe(1)
    expect(stderr).toContain('these files differ from the commit: commit or remove them\n')
    expect(stderr).toContain('CHANGELOG.md')
    await commit()
  })
})

describe('make release writes', () => {
  let first: Readonly<Record<string, string>>

  test('charts, manifests, SBOM, sums and provenance (34.4)', async () => {
    const { code, stderr } = await release()
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    first = written()
    expect(Object.keys(first)).toEqual(FILES)
  })

  test('sums of every file, by which a changed byte is found (34.4)', async () => {
    const check = () => run('bash', ['-c', 'cd dist && sha256sum --check --strict SHA256SUMS'])
    const names = textOf('SHA256SUMS')
      .trimEnd()
      .split('\n')
      .map((line) => line.split('  ')[1])
    expect(names).toEqual(FILES.filter((name) => name !== 'SHA256SUMS'))
    expect(await check()).toMatchObject({ code: 0 })
    writeFileSync(join(root, 'dist/install.yaml'), `${textOf('install.yaml')}#`)
    expect((await check()).stdout).toContain('install.yaml: FAILED')
  })

  test('the same bytes again, whatever the times of files (34.4)', async () => {
    await run('bash', ['-c', 'touch charts/*/* charts/*/*/*'])
    expect(await release()).toMatchObject({ code: 0 })
    expect(written()).toEqual(first)
  })

  test('the image by its digest, in both manifests (34.3)', () => {
    for (const name of ['install.yaml', 'install-agent.yaml']) {
      const images = textOf(name).match(/image: .+/g)
      expect(new Set(images)).toEqual(new Set([`image: ${IMAGE}`]))
    }
  })

  test('charts that Helm reads, with repository and image (34.1)', async () => {
    const { code, stdout } = await run(helm, ['show', 'chart', join(root, 'dist', FILES[3] ?? '')])
    expect(code).toBe(0)
    expect(stdout).toContain('\nname: management-operator\n')
    expect(stdout).toContain(`\nhome: ${REPOSITORY}\n`)
    expect(stdout).toContain(`image: ${IMAGE}\n`)
  })

  test.each([FILES[3], FILES[4]])(
    'chart %s, which installs the image of the release (34.4)',
    async (name) => {
      const { code, stdout } = await run(helm, ['template', 'x', join(root, 'dist', name ?? '')])
      expect(code).toBe(0)
      const images = stdout.match(/image: .+/g)
      expect(new Set(images)).toEqual(new Set([`image: "${IMAGE}"`]))
    },
  )

  test('an SBOM of the packages that the image installs, and no others (34.4)', () => {
    const { specVersion, components } = JSON.parse(textOf('sbom.cdx.json')) as {
      readonly specVersion: string
      readonly components: readonly Component[]
    }
    const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
      readonly packages: Readonly<
        Record<string, { version?: string; dev?: boolean; devOptional?: boolean }>
      >
    }
    const installed = Object.entries(packages)
      .filter(([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional)
      .map(
        ([path, { version }]) => `${path.slice(path.lastIndexOf('node_modules/') + 13)}@${version}`,
      )
    const listed = namesIn(components)
    expect(specVersion).toBe('1.6')
    expect(new Set(listed)).toEqual(new Set(installed))
  })

  test('provenance of every file, from this commit (34.4)', async () => {
    const { subject, predicate } = JSON.parse(textOf('provenance.intoto.json')) as {
      readonly subject: readonly { readonly name: string }[]
      readonly predicate: { readonly buildDefinition: { readonly resolvedDependencies: unknown } }
    }
    const { stdout } = await run('git', ['rev-parse', 'HEAD'])
    expect(subject.map(({ name }) => name)).toEqual(
      FILES.filter((name) => !['SHA256SUMS', 'provenance.intoto.json'].includes(name)),
    )
    expect(predicate.buildDefinition.resolvedDependencies).toEqual([
      { uri: `git+${REPOSITORY}@${stdout.trim()}`, digest: { gitCommit: stdout.trim() } },
    ])
  })
})
