// Chromium in a test: windows with a profile of their own, and all that they complain about.
import { type Browser, type BrowserContextOptions, type Page, chromium } from 'playwright-core'
import { chromiumEnv } from '../../../tools/chromium/program.ts'

/** An error in the console, a violation of a policy, an exception of a script, or a refused cookie. */
interface Complaint {
  /** Address of the page that was shown then. */
  readonly at: string
  readonly text: string
}

/** A window. */
export interface ChromiumWindow {
  readonly page: Page
  /** Oldest first. */
  readonly complaints: readonly Complaint[]
  readonly close: () => Promise<void>
}

/** Options of startChromium. */
interface ChromiumOptions {
  /** As ensureChromium found it. */
  readonly program: string
  readonly flags?: readonly string[]
  /** Rules of the resolver; absent = no name but localhost is known, so that no page reaches the Internet. */
  readonly resolved?: string
}

/** A browser without windows. */
export interface Chromium {
  /** Opens a window with an empty profile. It takes every certificate: tests have authorities of their own. */
  readonly open: (options?: BrowserContextOptions) => Promise<ChromiumWindow>
  readonly close: () => Promise<void>
}

const ONLY_LOOPBACK = 'MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1'

/** A step takes no longer, on a busy machine. */
const STEP_MS = 20_000

/** Starts the program; the caller closes it. */
export async function startChromium({
  program,
  flags = [],
  resolved = ONLY_LOOPBACK,
}: ChromiumOptions): Promise<Chromium> {
  const browser = await chromium.launch({
    executablePath: program,
    args: [`--host-resolver-rules=${resolved}`, ...flags],
    env: { ...definedEnv(), ...chromiumEnv(program) },
  })
  return {
    open: (options) => open(browser, options),
    close: () => browser.close(),
  }
}

async function open(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<ChromiumWindow> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, ...options })
  context.setDefaultTimeout(STEP_MS)
  const page = await context.newPage()
  const complaints: Complaint[] = []
  const complain = (text: string): number => complaints.push({ at: page.url(), text })
  page.on('console', (message) => {
    if (message.type() === 'error') complain(message.text())
  })
  page.on('pageerror', ({ message }) => complain(message))
  const session = await context.newCDPSession(page)
  session.on('Audits.issueAdded', ({ issue }) => {
    if (COMPLAINTS.includes(issue.code)) complain(JSON.stringify(issue))
  })
  await session.send('Audits.enable')
  return { page, complaints, close: () => context.close() }
}

const COMPLAINTS = ['ContentSecurityPolicyIssue', 'CookieIssue', 'MixedContentIssue']

const definedEnv = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    ),
  )
