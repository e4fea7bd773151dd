// The pages of signing in. They work without JavaScript, with a keyboard, dark and on a phone.
import { formatTimestamp } from '../../domain/time.ts'
import { type Destination, NOWHERE, loginPath, parametersOf } from '../attempts/destination.ts'
import { type Terminal, checkCode } from '../attempts/terminal.ts'
import { html, type Html } from './html.ts'
import type { SignInPage } from './layout.ts'

/** A provider on the page. */
interface OfferedProvider {
  readonly id: string
  readonly label: string
}

/** What a person can choose. */
export interface LoginChoices {
  readonly providers: readonly OfferedProvider[]
  readonly hasPasswords: boolean
  readonly legal: Html | null
}

/**
 * The page with the ways to sign in.
 *
 * @param app where the person goes after the form, by way of this platform; null = to no other site
 */
export function loginPage(
  choices: LoginChoices,
  destination: Destination,
  app: URL | null = null,
): SignInPage {
  const { providers, hasPasswords, legal } = choices
  const query = parametersOf(destination).toString()
  const links = providers.map(
    ({ id, label }) =>
      html`<a class="button" href="/auth/${id}/login${query === '' ? '' : `?${query}`}">Sign in with ${label}</a>`,
  )
  const isNone = providers.length === 0 && !hasPasswords
  const body = html`${destination.terminal === null ? null : forTerminal(destination.terminal)}
${isNone ? html`<p>No way to sign in is set up. Ask an administrator.</p>` : null}
${links}
${providers.length > 0 && hasPasswords ? html`<p class="muted or">or with a password</p>` : null}
${hasPasswords ? passwordForm(destination) : null}
${legal === null ? null : html`<div class="legal">${legal}</div>`}`
  const page = { title: 'Sign in', body, ownForms: hasPasswords }
  // The app may lead on to yet another address.
  return app === null
    ? { ...page, formTargets: [] }
    : { ...page, formTargets: [app], leadsAnywhere: true }
}

const forTerminal = ({ challenge }: Terminal): Html =>
  html`<p>This signs you in on a terminal. Go on only if it shows the code <strong>${checkCode(challenge)}</strong>. If it does not, close this page.</p>`

const passwordForm = (
  destination: Destination,
): Html => html`<form method="post" action="/auth/password/login">
${[...parametersOf(destination)].map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<label>User name<input name="username" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="253"></label>
<label>Password<input name="password" type="password" autocomplete="current-password" required maxlength="256"></label>
<button>Sign in</button>
</form>`

/** The person who has signed in. */
interface SignedInPerson {
  readonly user: string
  /** When the key ends, in epoch milliseconds; null = not by time. */
  readonly endsMs: number | null
  /** The provider's own page that signing out leads to; null = it has none. */
  readonly signOut: URL | null
}

/** The page of a person who has signed in. */
export const personPage = ({ user, endsMs, signOut }: SignedInPerson): SignInPage => ({
  title: `Signed in as ${user}`,
  body: html`<p>${endsMs === null ? 'This sign-in does not end by itself.' : `Until ${formatTimestamp(endsMs)}.`}</p>
<form method="post" action="/auth/logout"><button class="quiet">Sign out</button></form>`,
  ownForms: true,
  formTargets: signOut === null ? [] : signOutTargets(signOut),
})

/** Browsers apply the policy of a form to each redirect after it: to the provider, and from there back (postLogoutRedirectURI). */
function signOutTargets(signOut: URL): readonly URL[] {
  const back = URL.parse(signOut.searchParams.get('post_logout_redirect_uri') ?? '')
  return back === null ? [signOut] : [signOut, back]
}

/** A form that leads to a provider. */
interface EntranceForm {
  readonly url: URL
  readonly form: Readonly<Record<string, string>>
  /** As on the button that led here. */
  readonly label: string
}

/** The page that posts a request to a provider. Without JavaScript the person sends it. */
export const entrancePage = ({ url, form, label }: EntranceForm): SignInPage => ({
  title: `Sign in with ${label}`,
  body: html`<form method="post" action="${url.href}">
${Object.entries(form).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<button>Continue</button>
</form>`,
  ownForms: false,
  formTargets: [url],
  // The provider may ask at yet another one who the person is.
  leadsAnywhere: true,
})

/** The page that hands a sign-in over to a terminal, only when the person presses the button (contract 25.2). */
export function handOverPage(user: string, code: string, terminal: Terminal): SignInPage {
  const { port, state, challenge } = terminal
  const form =
    port === null
      ? null
      : html`<form method="post" action="http://127.0.0.1:${port}/callback">
<input type="hidden" name="code" value="${code}"><input type="hidden" name="state" value="${state}">
<button>Continue</button>
</form>`
  return {
    title: `Sign in as ${user} on a terminal`,
    body: html`<p>Go on only if your terminal shows the code <strong>${checkCode(challenge)}</strong>. If it does not, or you started no sign-in there, close this page: another person would get your access.</p>
${form}
<p class="muted">${port === null ? 'Paste this into the terminal:' : 'For a terminal on another computer, paste this:'}</p>
<code class="code">${code}</code>`,
    ownForms: false,
    formTargets: port === null ? [] : [new URL(`http://127.0.0.1:${port}`)],
  }
}

/** The page of a refusal. @param text what the person can do @param destination of the attempt that was refused */
export const refusalPage = (text: string, destination = NOWHERE): SignInPage => ({
  title: 'Not signed in',
  body: html`<p class="error" role="alert">${text}</p>
<a class="button quiet" href="${loginPath(destination)}">Start again</a>`,
  ownForms: false,
  formTargets: [],
})
