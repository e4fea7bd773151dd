import { expect, test } from 'vitest'
import { browserCommand, openBrowser } from '../../../../src/commands/login/browser.ts'

const URL_TEXT = 'https://p.example.com/login?a=b&c=d'

test.each<{
  name: string
  platform: NodeJS.Platform
  env: Record<string, string>
  command: readonly string[] | null
}>([
  {
    name: 'Linux with X',
    platform: 'linux',
    env: { DISPLAY: ':0' },
    command: ['xdg-open', URL_TEXT],
  },
  {
    name: 'Linux with Wayland',
    platform: 'linux',
    env: { WAYLAND_DISPLAY: 'w' },
    command: ['xdg-open', URL_TEXT],
  },
  { name: 'Linux without a display', platform: 'linux', env: {}, command: null },
  { name: 'macOS', platform: 'darwin', env: {}, command: ['open', URL_TEXT] },
  {
    name: 'Windows',
    platform: 'win32',
    env: {},
    command: ['rundll32', 'url.dll,FileProtocolHandler', URL_TEXT],
  },
  {
    name: 'a terminal of another machine',
    platform: 'linux',
    env: { DISPLAY: ':0', SSH_CONNECTION: '192.0.2.1 1 192.0.2.2 22' },
    command: null,
  },
  {
    name: 'BROWSER',
    platform: 'linux',
    env: { BROWSER: 'firefox', SSH_CONNECTION: 'x' },
    command: ['firefox', URL_TEXT],
  },
  {
    name: 'BROWSER with words',
    platform: 'darwin',
    env: { BROWSER: 'firefox --private-window' },
    command: ['firefox', '--private-window', URL_TEXT],
  },
  {
    name: 'BROWSER with a place for the address',
    platform: 'linux',
    env: { BROWSER: 'w3m -o x %s:lynx' },
    command: ['w3m', '-o', 'x', URL_TEXT],
  },
  { name: 'an empty BROWSER', platform: 'linux', env: { BROWSER: '' }, command: null },
])('the browser of $name gets the address, without a shell (27.2)', (row) => {
  const { platform, env, command } = row
  const found = browserCommand(URL_TEXT, { platform, env: (name) => env[name] ?? null })
  expect(found && [found.file, ...found.args]).toEqual(command)
})

test.each([
  { name: 'is not there', file: '/nonexistent/browser', args: [] },
  { name: 'fails', file: 'false', args: [] },
])('a browser that $name is reported (27.2)', async ({ file, args }) => {
  const reported = new Promise<string>((resolve) =>
    openBrowser({ file, args }, () => resolve('reported')),
  )
  expect(await reported).toBe('reported')
})
