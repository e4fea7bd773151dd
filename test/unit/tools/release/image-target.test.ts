// `make image` for other platforms: the command that it runs, and what it says without buildx.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../../../..')

function make(...args: readonly string[]) {
  // `make test` runs this: what it passes on to another make would add lines.
  const { MAKEFLAGS: _, MAKELEVEL: __, ...env } = process.env
  const { status, stdout, stderr } = spawnSync('make', ['image', ...args], {
    cwd: ROOT,
    env,
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

test('PLATFORMS without buildx is refused before a build, with the remedy (34.4)', () => {
  const { status, stdout, stderr } = make('PLATFORMS=linux/amd64', 'DOCKER=false')
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  expect(stderr.split('\n')[0]).toBe(
    'PLATFORMS needs the plugin buildx of docker: install it. Without PLATFORMS the image is for this machine.',
  )
})

test.each([
  {
    name: 'PLATFORMS is built by buildx for each platform, and pushed',
    args: ['PLATFORMS=linux/amd64,linux/arm64'],
    has: "docker buildx build --platform 'linux/amd64,linux/arm64' --push ",
    lacks: 'image.source',
  },
  {
    name: 'an image without PLATFORMS is built for this machine and stays here',
    args: [],
    has: 'docker build ',
    lacks: '--push',
  },
  {
    name: 'an image of a REPOSITORY is labelled with it',
    args: ['REPOSITORY=https://git.example.com/mo'],
    has: "--label org.opencontainers.image.source='https://git.example.com/mo'",
    lacks: '--push',
  },
])('$name (34.4)', ({ args, has, lacks }) => {
  const { status, stdout } = make('--dry-run', ...args)
  expect(status).toBe(0)
  expect(stdout).toContain(has)
  expect(stdout).not.toContain(lacks)
})
