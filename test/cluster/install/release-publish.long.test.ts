// `make release-sign` and `make release-push` in a checkout of their own: what they refuse, with what would be right.
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { ensureHelm } from '../../../tools/helm/program.ts'
import { prepareWith, programOrSkip } from '../../support/program-or-skip.ts'
import { createReleaseCheckout, IMAGE } from './release-checkout.ts'

const CHARTS = 'oci://registry.example.com/charts'
const ANOTHER = IMAGE.replace('@sha256:0', '@sha256:f')
const helm = await programOrSkip(ensureHelm)
const checkout = await createReleaseCheckout()
const { root, make } = checkout
afterAll(() => checkout.remove())

/** What make adds to the end of a failed recipe. */
const MAKE = /^make: \*\*\* .*\n/m

/** The exit code and what a failed target says, without make's own line. */
async function refusal(target: string, variables: Readonly<Record<string, string>>) {
  const { code, stdout, stderr } = await make(target, variables)
  return { code, stdout, says: stderr.replace(MAKE, '') }
}

const STEPS = [
  { target: 'release-sign', variables: { IMAGE, KEY: 'cosign.key' } },
  { target: 'release-push', variables: { CHARTS } },
] as const

describe.each(STEPS)('make $target', ({ target, variables }) => {
  test.each([
    { way: 'for real', DRY_RUN: '' },
    { way: 'as a dry run', DRY_RUN: '1' },
  ])('without dist/ says what to run, $way (34.4)', async ({ DRY_RUN }) => {
    expect(await refusal(target, { ...variables, DRY_RUN })).toEqual({
      code: 2,
      stdout: '',
      says: 'dist/ is missing: run make release\n',
    })
  })
})

test('make release-sign without an image says how one is named (34.4)', async () => {
  expect(await refusal('release-sign', {})).toEqual({
    code: 2,
    stdout: '',
    says: 'IMAGE is "": write it by digest, such as registry.example.com/platform/management-operator@sha256:... (docker push prints it)\n',
  })
})

test.each([
  { name: 'nothing', given: '' },
  { name: 'an address without oci://', given: 'registry.example.com/charts' },
  { name: 'oci:// alone', given: 'oci://' },
])('make release-push to $name says how a registry is named (34.4)', async ({ given }) => {
  expect(await refusal('release-push', { CHARTS: given })).toEqual({
    code: 2,
    stdout: '',
    says: `CHARTS is ${JSON.stringify(given)}: write the registry for charts, such as oci://registry.example.com/charts\n`,
  })
})

describe('with a release in dist/', () => {
  prepareWith([helm], () => checkout.release(IMAGE))

  test('make release-push prints each command with DRY_RUN=1, and runs none (34.4)', async () => {
    expect(await make('release-push', { CHARTS, DRY_RUN: '1' })).toEqual({
      code: 0,
      stdout: `helm push dist/management-operator-0.1.0.tgz ${CHARTS}\nhelm push dist/management-operator-agent-0.1.0.tgz ${CHARTS}\n`,
      stderr: '',
    })
  })

  test('make release-sign prints each command with DRY_RUN=1, and runs none (34.4)', async () => {
    const before = checkout.written()
    const { code, stdout } = await make('release-sign', { IMAGE, KEY: 'cosign.key', DRY_RUN: '1' })
    expect(code).toBe(0)
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(/^cosign sign-blob .*--key=cosign\.key .* dist\/SHA256SUMS$/),
      expect.stringMatching(new RegExp(`^cosign sign .*--key=cosign\\.key .*${IMAGE}$`)),
      '',
    ])
    expect(checkout.written()).toEqual(before)
  })

  test('make release-sign refuses another image than the manifests have (34.4)', async () => {
    expect(await refusal('release-sign', { IMAGE: ANOTHER, KEY: 'cosign.key' })).toMatchObject({
      code: 2,
      says: `IMAGE is ${ANOTHER}, and the manifests of dist/ have ${IMAGE}: sign that one, or run make release with this one\n`,
    })
  })

  test.each([
    { target: 'release-sign', variable: 'COSIGN', variables: { IMAGE, KEY: 'cosign.key' } },
    { target: 'release-push', variable: 'HELM', variables: { CHARTS } },
  ])('make $target without a program says which variable names one (34.4)', async (row) => {
    const { target, variable, variables } = row
    const program = join(root, 'no-program')
    const { code, says } = await refusal(target, { ...variables, [variable]: program })
    expect({ code, says }).toEqual({
      code: 2,
      says: `${program} can't be run (ENOENT): set ${variable} to the program, or to nothing: then it is built once\n`,
    })
  })

  test.each(STEPS)('make $target refuses files without a sum (34.4)', async (step) => {
    const planted = join(root, 'dist/planted.yaml')
    writeFileSync(planted, '')
    const refused = await refusal(step.target, step.variables)
    rmSync(planted)
    expect(refused).toMatchObject({
      code: 2,
      says: 'dist/: planted.yaml is not in SHA256SUMS: run make release again\n',
    })
  })

  test.each(STEPS)('make $target refuses a release of another version (34.4)', async (step) => {
    const path = join(root, 'package.json')
    renameSync(path, `${path}.kept`)
    writeFileSync(path, JSON.stringify({ version: '0.2.0', type: 'module' }))
    const refused = await refusal(step.target, step.variables)
    renameSync(`${path}.kept`, path)
    expect(refused).toMatchObject({
      code: 2,
      says: 'dist/ has management-operator-0.1.0.tgz, management-operator-agent-0.1.0.tgz, and package.json has version 0.2.0: check out the commit of the release, or run make release again\n',
    })
  })
})
