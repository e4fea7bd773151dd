// The file with the keys: who may read it, and what is in it.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  changeSignIns,
  readSignIns,
  signInsPath,
} from '../../../../src/commands/login/sign-ins-file.ts'

const URL_TEXT = 'https://platform.example.com'
const KEY = `pak_${'a1B2'.repeat(10)}`
const SIGN_IN = { accessKey: KEY, expirationTimestamp: '2026-11-30T00:00:00Z', ca: null }

/** A file in a folder that `changeSignIns` makes; with a text, both are there. */
function place(text?: string): string {
  const root = mkdtempSync(join(tmpdir(), 'sign-ins-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const path = join(root, 'config/management-operator/sign-ins.json')
  if (text === undefined) return path
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeFileSync(path, text, { mode: 0o600 })
  return path
}

const modeOf = (path: string): number => statSync(path).mode & 0o777

const textOf = (signIn: object): string => JSON.stringify({ signIns: { [URL_TEXT]: signIn } })

describe('the file of sign-ins (27.2)', () => {
  test('has mode 0600 in a folder of 0700, and what was written', async () => {
    const path = place()
    expect(await readSignIns(path)).toEqual(new Map())
    await changeSignIns(path, (signIns) => void signIns.set(URL_TEXT, SIGN_IN))
    expect([modeOf(path), modeOf(dirname(path))]).toEqual([0o600, 0o700])
    const other = { ...SIGN_IN, expirationTimestamp: null, ca: 'PEM' }
    await changeSignIns(path, (signIns) => void signIns.set('https://other.example', other))
    expect([...(await readSignIns(path))]).toEqual([
      [URL_TEXT, SIGN_IN],
      ['https://other.example', other],
    ])
    expect(readdirSync(dirname(path))).toEqual(['sign-ins.json'])
  })

  test.each([
    { name: 'the group may read', mode: 0o640 },
    { name: 'all may read', mode: 0o604 },
    { name: 'all may write', mode: 0o602 },
    { name: 'the group may search', mode: 0o610 },
  ])('is refused, and not changed, where $name', async ({ mode }) => {
    const path = place(textOf(SIGN_IN))
    chmodSync(path, mode)
    const fault = `${path} is open to other users: end the sign-ins in it, then run chmod 600 ${path}`
    await expect(readSignIns(path)).rejects.toThrow(fault)
    await expect(changeSignIns(path, (signIns) => signIns.clear())).rejects.toThrow(fault)
    expect(readFileSync(path, 'utf8')).toBe(textOf(SIGN_IN))
  })

  test.each([0o750, 0o705, 0o702, 0o777])('is refused in a folder of mode %o', async (mode) => {
    const path = place(textOf(SIGN_IN))
    chmodSync(dirname(path), mode)
    await expect(readSignIns(path)).rejects.toThrow(`chmod 700 ${dirname(path)}`)
  })

  test('is refused where it is a link, a folder, or in a linked folder', async () => {
    const target = place(textOf(SIGN_IN))
    const link = place('')
    rmSync(link)
    symlinkSync(target, link)
    await expect(readSignIns(link)).rejects.toThrow('is a link')
    const folder = place('')
    rmSync(folder)
    mkdirSync(folder)
    await expect(readSignIns(folder)).rejects.toThrow('is not a file')
    const linked = place()
    mkdirSync(dirname(dirname(linked)), { recursive: true })
    symlinkSync(dirname(target), dirname(linked))
    await expect(readSignIns(linked)).rejects.toThrow('is not a folder')
  })

  test.skipIf(process.getuid?.() !== 0)('is refused where it belongs to another user', async () => {
    const { chownSync } = await import('node:fs')
    const path = place(textOf(SIGN_IN))
    chownSync(path, 12_345, 12_345)
    await expect(readSignIns(path)).rejects.toThrow('belongs to another user')
    chownSync(path, 0, 0)
    chownSync(dirname(path), 12_345, 12_345)
    await expect(readSignIns(path)).rejects.toThrow('belongs to another user')
  })

  test.each([
    { name: 'nothing', text: '' },
    { name: 'half of a file', text: textOf(SIGN_IN).slice(0, -9) },
    { name: 'a list', text: '[]' },
    { name: 'other JSON', text: '{}' },
    { name: 'a list of sign-ins', text: '{"signIns":[]}' },
    { name: 'a key of another form', text: textOf({ ...SIGN_IN, accessKey: `${KEY}\n` }) },
    { name: 'no key', text: textOf({ ...SIGN_IN, accessKey: undefined }) },
    { name: 'a time of another form', text: textOf({ ...SIGN_IN, expirationTimestamp: 'soon' }) },
    { name: 'a time that is a number', text: textOf({ ...SIGN_IN, expirationTimestamp: 1 }) },
    { name: 'a CA that is a number', text: textOf({ ...SIGN_IN, ca: 1 }) },
  ])('with $name says what to do, without its text', async ({ text }) => {
    const path = place(text)
    await expect(readSignIns(path)).rejects.toThrow(
      `${path} has no sign-ins: remove it, and sign in again`,
    )
  })

  test('is not read where it has more than a mebibyte', async () => {
    const path = place(' '.repeat(1024 * 1024 + 1))
    await expect(readSignIns(path)).rejects.toThrow('is too large')
  })

  test('keeps the old content where the new one cannot be written', async () => {
    const path = place(textOf(SIGN_IN))
    mkdirSync(`${path}.new`)
    await expect(changeSignIns(path, (signIns) => signIns.clear())).rejects.toThrow(/EISDIR|EEXIST/)
    expect(readFileSync(path, 'utf8')).toBe(textOf(SIGN_IN))
  })
})

test.each([
  { name: 'XDG_CONFIG_HOME', value: '/c', path: '/c' },
  { name: 'the home folder without one', value: null, path: join(homedir(), '.config') },
  { name: 'the home folder for an empty one', value: '', path: join(homedir(), '.config') },
  { name: 'the home folder for a relative one', value: 'c', path: join(homedir(), '.config') },
])('the file is in $name (27.2)', ({ value, path }) => {
  const env = (name: string) => (name === 'XDG_CONFIG_HOME' ? value : null)
  expect(signInsPath({ env })).toBe(`${path}/management-operator/sign-ins.json`)
  expect(existsSync('/c')).toBe(false)
})
