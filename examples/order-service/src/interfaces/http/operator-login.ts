import type { FastifyInstance } from 'fastify'
import type { Authenticate } from './token-authenticator.ts'

/** Where the admin API and its console are mounted. */
export const operatorPath = '/ops'
const cookie = 'orders_operator'
const loginPath = '/ops-login'

const page = `<!doctype html>
<meta charset="utf-8">
<title>Operators</title>
<form method="post" action="${loginPath}">
  <label>Access token <input name="token" type="password" autocomplete="off" required autofocus></label>
  <button>Open the console</button>
</form>
`

/**
 * Adds the page where a browser exchanges an access token for a cookie, since it cannot send the token itself. The cookie is
 * for operators only: orders need the header, which no foreign page can add.
 */
export function addOperatorLogin(server: FastifyInstance, authenticate: Authenticate): void {
  server.register(async (login) => {
    login.removeAllContentTypeParsers()
    login.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_, body, done) =>
      done(null, new URLSearchParams(body.toString())),
    )
    login.addHook('onRequest', async (_, reply) => {
      reply.header('cache-control', 'no-store')
      reply.header('content-security-policy', "default-src 'none'; form-action 'self'; frame-ancestors 'none'")
    })
    login.get(loginPath, async (_, reply) => reply.type('text/html; charset=utf-8').send(page))
    login.post<{ Body: URLSearchParams | undefined }>(loginPath, async ({ body, protocol }, reply) => {
      const token = body?.get('token')?.trim() ?? ''
      await authenticate(`Bearer ${token}`)
      const attributes = `Path=${operatorPath}; HttpOnly; SameSite=Strict${protocol === 'https' ? '; Secure' : ''}`
      return reply.header('set-cookie', `${cookie}=${token}; ${attributes}`).redirect(`${operatorPath}/`, 303)
    })
  })
}

/** Returns the credentials of an operator's request: its header, or else the cookie of {@link addOperatorLogin}. */
export function operatorCredentials(headers: Readonly<Record<string, string | undefined>>): string | undefined {
  const held = new RegExp(`(?:^|; )${cookie}=([^;]+)`).exec(headers['cookie'] ?? '')?.[1]
  return headers['authorization'] ?? (held === undefined ? undefined : `Bearer ${held}`)
}
