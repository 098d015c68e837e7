import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ErrorBody } from './error-answers.ts'

/** Refusals by Node's HTTP parser, which come before there is a request. */
const refusals: Readonly<Record<string, readonly [status: number, code: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'HEADERS_TOO_LARGE', 'The headers of the request are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'REQUEST_TIMEOUT', 'The request did not arrive in time.'],
}

const unreadable = [400, 'BAD_REQUEST', 'The request cannot be read.'] as const

/** Answers a request that could not be parsed, and closes its connection. */
export function answerUnreadable(
  { code = '' }: NodeJS.ErrnoException,
  socket: Socket,
  bodyOf: (code: string, message: string) => ErrorBody,
): void {
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const [status, name, message] = refusals[code] ?? unreadable
  const body = bodyOf(name, message)
  const text = JSON.stringify(body)
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'content-type: application/json; charset=utf-8',
      `content-length: ${Buffer.byteLength(text)}`,
      `x-request-id: ${body.requestId}`,
      'connection: close',
      '',
      text,
    ].join('\r\n'),
  )
}
