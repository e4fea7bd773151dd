// The URL of the repository that a release names in its charts and in its provenance.

/** The URL of this text. @throws Error that says what is accepted; it does not repeat the text, which may hold a password */
export function parseRepository(text: string): string {
  const url = URL.parse(text)
  if (url?.protocol !== 'https:')
    throw new Error('REPOSITORY is not a https:// URL: write where the commit can be read')
  if (url.username !== '' || url.password !== '')
    throw new Error(
      'REPOSITORY has a user or a token, which the release would publish: leave it out',
    )
  return text
}
