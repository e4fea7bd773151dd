// Chromium still decides as chromium-answers.json says, which `UPDATE_FROM_CHROMIUM=1` writes again.
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import type { OutgoingHttpHeaders } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { ensureChromium } from '../../../tools/chromium/program.ts'
import { type Chromium, startChromium } from '../../support/browser/chromium.ts'
import {
  type Arrival,
  END,
  JOURNEYS,
  type Journey,
  answerOn,
  pageAddress,
  settingAddress,
} from '../../support/browser/journeys.ts'
import { serverPair } from '../../support/certificate-builder.ts'
import { prepareWith, programOrSkip } from '../../support/program-or-skip.ts'

const FILE = join(import.meta.dirname, '../../support/browser/chromium-answers.json')
const program = await programOrSkip(ensureChromium)

const { certificatePem, keyPem } = serverPair('sites')
const server = createServer({ cert: certificatePem, key: keyPem })
let chromium: Chromium | null = null
prepareWith([program], async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  chromium = await startChromium({ program, resolved: `MAP * 127.0.0.1:${port}` })
})
afterAll(async () => {
  await chromium?.close()
  server.close()
  server.closeAllConnections()
})

/** What arrives at the end; null = Chromium did not go there, and complained. */
async function arrivalOn(journey: Journey): Promise<Arrival | null> {
  if (chromium === null) throw new Error('there is no Chromium')
  const arrived = Promise.withResolvers<Omit<Arrival, 'readable'>>()
  server.removeAllListeners('request')
  server.on('request', (request, response) => {
    const url = new URL(request.url ?? '', `https://${request.headers.host}`)
    const { status, headers, body } = answerOn(journey, url)
    response.writeHead(status, headers as OutgoingHttpHeaders).end(body)
    const { cookie = '', origin = null } = request.headers
    const cookies = cookie.split('; ').filter((one) => one !== '')
    if (url.href === END) arrived.resolve({ cookies, origin })
  })
  const { page, close } = await chromium.open()
  const complaint = page
    .waitForEvent('console', (message) => message.type() === 'error')
    .then(
      () => null,
      () => null,
    )
  for (const at of journey.cookies.keys()) await page.goto(settingAddress(at))
  if (journey.from === null) await page.goto(END)
  else {
    await page.goto(pageAddress(journey))
    await page.getByText('go').click({ noWaitAfter: true })
  }
  const arrival = await Promise.race([arrived.promise, complaint])
  if (arrival !== null) await page.waitForURL(END)
  const script = arrival === null ? '' : await page.evaluate<string>('document.cookie')
  await close()
  const readable = script.split('; ').map((one) => one.split('=')[0] ?? '')
  return arrival && { ...arrival, readable: readable.filter((one) => one !== '').toSorted() }
}

/** Goes once more where another program of this machine has made or removed a network interface meanwhile. */
async function undisturbed<Result>(act: () => Promise<Result>, tries = 5): Promise<Result> {
  try {
    return await act()
  } catch (error) {
    if (tries === 1 || !String(error).includes('ERR_NETWORK_CHANGED')) throw error
    return undisturbed(act, tries - 1)
  }
}

/** Each journey is a window of its own, which takes a second or two on a busy machine. */
const WITHIN = { timeout: 600_000 }

test(
  'Chromium decides as its answers say, which the browser of the tests is held against',
  WITHIN,
  async () => {
    const answers: Record<string, Arrival | null> = {}
    for (const journey of JOURNEYS)
      answers[journey.name] = await undisturbed(() => arrivalOn(journey))
    const text = `${JSON.stringify(answers, null, 2)}\n`
    if (process.env['UPDATE_FROM_CHROMIUM'] === '1') writeFileSync(FILE, text)
    expect(answers).toEqual(JSON.parse(readFileSync(FILE, 'utf8')))
  },
)
