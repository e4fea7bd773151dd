// The frame of every page: style, colours and logo of the platform, and the headers that keep a page what it is (contract 25.2).
import { createHash } from 'node:crypto'
import type { UiSettings } from '../../api/config.gen.ts'
import { pageColours } from './colours.ts'
import { html, Html } from './html.ts'

/** The inside of a page. */
export interface SignInPage {
  readonly title: string
  readonly body: Html
  /** Whether a form of the page posts to the platform, which demands the header Origin. */
  readonly ownForms: boolean
  /** Addresses that forms of the page may lead to, besides the platform's own. */
  readonly formTargets: readonly URL[]
  /** Whether its forms may lead anywhere over TLS. Browsers apply the policy to each redirect after a form; absent = no. */
  readonly leadsAnywhere?: true
}

/** A page as it is sent. */
interface RenderedPage {
  readonly text: string
  readonly contentSecurityPolicy: string
}

/** Under `no-referrer`, the policy of every answer, browsers would send `Origin: null` with a form. */
const ORIGIN_FOR_OWN_FORMS = html`<meta name="referrer" content="same-origin">`

/** Renders a page. */
export function renderPage(
  { title, body, ownForms, formTargets, leadsAnywhere }: SignInPage,
  ui: UiSettings = {},
): RenderedPage {
  const style = styleOf(ui)
  const logo = logoOf(ui.logoURL)
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${ownForms ? ORIGIN_FOR_OWN_FORMS : null}
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body>
<main>
${logo === null ? null : html`<img class="logo" src="${logo.href}" alt="">`}
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`
  const hash = createHash('sha256').update(style).digest('base64')
  return {
    text: page.text,
    contentSecurityPolicy: [
      "default-src 'none'",
      `style-src 'sha256-${hash}'`,
      `img-src ${sourcesOf(logo === null ? [] : [logo])}`,
      `form-action ${sourcesOf(formTargets)}${leadsAnywhere ? ' https:' : ''}`,
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ].join('; '),
  }
}

/** The URL of the logo; null = there is none that a browser would load by a policy. */
function logoOf(text: string | undefined): URL | null {
  const url = text === undefined ? null : URL.parse(text)
  return url !== null && isSource(url) ? url : null
}

/** A host may have `;` and `,`, which end a directive and a policy. */
const HOST = /^[a-z0-9.:[\]-]+$/i

const isSource = ({ protocol, host }: URL): boolean =>
  ['https:', 'http:'].includes(protocol) && HOST.test(host)

const isIpv6Source = (url: URL): boolean => isSource(url) && url.hostname.startsWith('[')

/** A scheme of an app on a person's device: it has no origin, and stands for itself. */
const OWN_SCHEME = /^[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+:$/

/** The sources of a directive: the platform's own, and the origins of these addresses. */
const sourcesOf = (urls: readonly URL[]): string =>
  [
    "'self'",
    ...urls.flatMap((url) => {
      // Policies have no words for an IPv6 address: browsers ignore one.
      if (OWN_SCHEME.test(url.protocol) || isIpv6Source(url)) return [url.protocol]
      return isSource(url) ? [url.origin] : []
    }),
  ].join(' ')

function styleOf({ primaryColor, accentColor }: UiSettings): string {
  const { primary, onPrimary, accent } = pageColours(primaryColor, accentColor)
  return `
:root{--primary:${primary};--on-primary:${onPrimary};--accent:${accent};--link:var(--accent);--text:#1c2430;--muted:#5b6675;--page:#f3f5f8;--card:#fff;--line:#cfd6df;--bad:#b3261e}
@media (prefers-color-scheme:dark){:root{--link:color-mix(in srgb,var(--accent) 50%,#fff);--text:#e8ecf2;--muted:#a5b0bf;--page:#12161c;--card:#1c222b;--line:#3a4452;--bad:#ff8a80}}
${RULES}`
}

const RULES = `*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1rem;background:var(--page);color:var(--text);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
main{width:100%;max-width:26rem;padding:2rem;background:var(--card);border:1px solid var(--line);border-radius:.75rem}
h1{margin:0 0 1.25rem;font-size:1.375rem;line-height:1.3}
p{margin:.75rem 0}
.logo{display:block;max-width:12rem;max-height:4rem;margin-bottom:1.25rem}
.muted,.legal{color:var(--muted);font-size:.875rem}
.legal{margin-top:1.5rem;padding-top:1rem;border-top:1px solid var(--line)}
.legal>:first-child{margin-top:0}
.legal>:last-child{margin-bottom:0}
.or{display:flex;align-items:center;gap:.75rem}
.or::before,.or::after{content:"";flex:1;border-top:1px solid var(--line)}
.error{color:var(--bad)}
.button,button{display:block;width:100%;min-height:2.75rem;margin:.75rem 0;padding:.6rem 1rem;border:0;border-radius:.5rem;background:var(--primary);color:var(--on-primary);font:inherit;font-weight:600;text-align:center;text-decoration:none;cursor:pointer}
.quiet{background:none;color:var(--text);border:1px solid var(--line)}
.button:hover,button:hover{filter:brightness(1.1)}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
label{display:block;margin:.75rem 0 0;font-weight:600}
input{display:block;width:100%;min-height:2.75rem;margin-top:.25rem;padding:.5rem .75rem;border:1px solid var(--muted);border-radius:.5rem;background:var(--page);color:var(--text);font:inherit}
a{color:var(--link)}
code{font:1rem/1.5 ui-monospace,monospace}
.code{display:block;padding:.75rem;border:1px solid var(--line);border-radius:.5rem;word-break:break-all;user-select:all}
`
