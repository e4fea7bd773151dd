// A checkout of its own in which a test runs `make release`, `make release-sign` and `make release-push`.
import {
  cpSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { type Ended, runCommand } from '../../support/run-command.ts'

const ROOT = join(import.meta.dirname, '../../..')
const PARTS = [
  'charts',
  'config',
  'crds',
  'docs',
  'src',
  'tools',
  'Makefile',
  'package.json',
  'package-lock.json',
  'CHANGELOG.md',
]
const NAMED = ['-c', 'user.name=test', '-c', 'user.email=test@example.com']

/** The image of the tests' releases, which no registry has. */
export const IMAGE = `registry.example.com/platform/management-operator@sha256:${'0123456789abcdef'.repeat(4)}`
/** The URL of the tests' repository, which nobody asks. */
export const REPOSITORY = 'https://git.example.com/management-operator'
/** The files of a release. */
export const FILES = [
  'SHA256SUMS',
  'install-agent.yaml',
  'install.yaml',
  'management-operator-0.1.0.tgz',
  'management-operator-agent-0.1.0.tgz',
  'provenance.intoto.json',
  'sbom.cdx.json',
]

/** A checkout below the folder for temporary files. */
export interface ReleaseCheckout {
  /** Its path. */
  readonly root: string
  /** Runs a program in it, with these variables beside those of the test. */
  readonly run: (
    program: string,
    args: readonly string[],
    env?: NodeJS.ProcessEnv,
  ) => Promise<Ended>
  /** Runs a target of the Makefile with variables of its own, and with variables of the environment. */
  readonly make: (
    target: string,
    variables?: Readonly<Record<string, string>>,
    env?: NodeJS.ProcessEnv,
  ) => Promise<Ended>
  /** Commits every change. */
  readonly commit: () => Promise<void>
  /** Cuts the changelog for the version of the package, without a commit. */
  readonly cutChangelog: () => void
  /** Cuts the changelog, commits it and writes the release of this image. @throws Error with what the release refuses */
  readonly release: (image: string) => Promise<void>
  /** The text of a file of dist/. */
  readonly textOf: (name: string) => string
  /** The bytes of dist/ in base64, by name. */
  readonly written: () => Readonly<Record<string, string>>
  readonly remove: () => void
}

/** The files of this checkout that a release needs, in a new repository with one commit. */
export async function createReleaseCheckout(): Promise<ReleaseCheckout> {
  const root = mkdtempSync(join(tmpdir(), 'release-test-'))
  for (const part of PARTS) cpSync(join(ROOT, part), join(root, part), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  writeFileSync(join(root, '.gitignore'), 'node_modules\ndist/\n')
  const run: ReleaseCheckout['run'] = (program, args, env) =>
    runCommand(program, args, { cwd: root, env })
  const commit = async (): Promise<void> => {
    await run('git', ['add', '--all'])
    const made = await run('git', [...NAMED, 'commit', '--quiet', '-m', 'change'])
    expect(made).toMatchObject({ code: 0 })
  }
  const make: ReleaseCheckout['make'] = (target, variables = {}, env = {}) =>
    run('make', makeArguments(target, variables), { ...APART, ...env })
  await run('git', ['init', '--quiet'])
  await commit()
  return {
    root,
    run,
    commit,
    make,
    cutChangelog: () => cutChangelog(join(root, 'CHANGELOG.md')),
    release: async (image) => {
      cutChangelog(join(root, 'CHANGELOG.md'))
      await commit()
      const { code, stderr } = await make('release', { IMAGE: image, REPOSITORY })
      if (code !== 0) throw new Error(stderr)
    },
    textOf: (name) => readFileSync(join(root, 'dist', name), 'utf8'),
    written: () => bytesIn(join(root, 'dist')),
    remove: () => rmSync(root, { recursive: true }),
  }
}

/** `make test-all` runs this: what it passes on to another make would add to its lines. */
const APART: NodeJS.ProcessEnv = { MAKEFLAGS: undefined, MAKELEVEL: undefined }

/** Without `--old-file`, make would install the packages again: the copied lock file is newer than they are. */
const makeArguments = (
  target: string,
  variables: Readonly<Record<string, string>>,
): readonly string[] => [
  '--no-print-directory',
  '--old-file=node_modules/.package-lock.json',
  target,
  ...Object.entries(variables).map(([name, value]) => `${name}=${value}`),
]

function cutChangelog(path: string): void {
  const uncut = readFileSync(path, 'utf8').replaceAll(/^## \d.*\n/gm, '')
  const cut = uncut.replace('## Unreleased', '## Unreleased\n\n## 0.1.0 - 2026-11-28')
  writeFileSync(path, cut)
}

const bytesIn = (folder: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(folder)
      .toSorted()
      .map((name) => [name, readFileSync(join(folder, name), 'base64')]),
  )
