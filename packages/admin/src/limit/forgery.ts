import type { AdminRequest } from '../http/admin-request.ts'
import { AdminRequestError } from '../problem/admin-errors.ts'

/**
 * Refuses a change that a page of another origin may have sent with the cookies of the operator. Such a page cannot set a
 * header of its own without asking first, and CORS is never allowed. A bearer token is not sent by a browser on its own.
 * @throws AdminRequestError
 */
export function refuseForgery({ headers }: AdminRequest): void {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') throw crossOrigin()
  const { origin, host } = headers
  if (origin !== undefined && host !== undefined && hostOf(origin) !== host.toLowerCase()) throw crossOrigin()
  if (/^bearer /i.test(headers['authorization'] ?? '')) return
  if (headers['waybill-csrf'] === '1') return
  throw new AdminRequestError('The header Waybill-CSRF is missing.', {
    status: 403,
    reason: 'CSRF_HEADER_MISSING',
    hint: 'Send Waybill-CSRF: 1, or a bearer token.',
  })
}

/**
 * Refuses what a page of another origin loads in the background: it cannot read the answer, but with the cookies of the
 * operator it could occupy all streams. A link on such a page may lead here.
 * @throws AdminRequestError
 */
export function refuseForeignPage({ headers }: AdminRequest): void {
  const site = headers['sec-fetch-site']
  if (site !== 'cross-site' && site !== 'same-site') return
  if (headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document') return
  throw crossOrigin()
}

function crossOrigin(): AdminRequestError {
  return new AdminRequestError('The request comes from a page of another origin.', {
    status: 403,
    reason: 'CROSS_ORIGIN',
  })
}

function hostOf(origin: string): string | undefined {
  return URL.parse(origin)?.host.toLowerCase()
}
