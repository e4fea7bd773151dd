// The browser of the tests decides as Chromium does, whose answers browser-journeys.long.test.ts writes down.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type BrowserRequest, openBrowser } from '../../support/browser/browser.ts'
import {
  type Arrival,
  END,
  JOURNEYS,
  type Journey,
  answerOn,
  pageAddress,
  settingAddress,
} from '../../support/browser/journeys.ts'

const ANSWERS = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../support/browser/chromium-answers.json'), 'utf8'),
) as Readonly<Record<string, Arrival | null>>

/** What arrives at the end; null = the browser did not go there. */
async function arrivalOn(journey: Journey): Promise<Arrival | null> {
  let last: BrowserRequest | null = null
  const browser = openBrowser({
    send: (request) => {
      if (request.url.href === END) last = request
      return Promise.resolve(answerOn(journey, request.url))
    },
  })
  for (const at of journey.cookies.keys()) await browser.navigate(settingAddress(at))
  if (journey.from === null) await browser.navigate(END)
  else {
    const page = await browser.navigate(pageAddress(journey))
    if (journey.method === 'GET') await browser.click(page, 'go')
    else await browser.submit(page, '/').catch(() => null)
  }
  // Assigned in a callback.
  const { headers } = (last as BrowserRequest | null) ?? {}
  if (headers === undefined) return null
  return {
    cookies: (headers['cookie'] ?? '').split('; ').filter((one) => one !== ''),
    origin: headers['origin'] ?? null,
    readable: browser.jar.names(new URL(END), 'script').toSorted(),
  }
}

test.each(JOURNEYS)('the browser of the tests decides as Chromium does: $name', async (journey) => {
  expect(await arrivalOn(journey)).toEqual(ANSWERS[journey.name])
})

test('answers of Chromium are there for each journey, and for no other', () => {
  expect(Object.keys(ANSWERS)).toEqual(JOURNEYS.map(({ name }) => name))
  expect(new Set(JOURNEYS.map(({ name }) => name)).size).toBe(JOURNEYS.length)
})
