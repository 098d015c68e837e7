/** An answer of the admin API. */
export interface AdminResponse {
  readonly status: number
  /** Header values by lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  /** A stream ends when the reader leaves or the admin closes. */
  readonly body: string | Uint8Array | AsyncIterable<string>
}

/** Headers of every answer: nothing is cached, sniffed, framed or sent on. */
export const securityHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'waybill-api': '1',
  'x-content-type-options': 'nosniff',
}
