/** postgres.js takes settings of the session apart from its address. */
export function postgresJsUrl(url: string): { readonly address: string; readonly searchPath: string } {
  const address = new URL(url)
  const searchPath = address.searchParams.get('options')?.replace('-c search_path=', '') ?? 'public'
  address.search = ''
  return { address: address.href, searchPath }
}
