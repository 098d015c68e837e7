import { expect, test } from 'vitest'
import { EventParser } from '../../console/api/event-parser.ts'
import { problemText, readProblem } from '../../console/api/problem.ts'
import { curlOf, wireRequest } from '../../console/api/request.ts'
import { stepAfter } from '../../console/state/live-policy.ts'

test('a stream that worked is connected again at once, one that fails ever later', () => {
  expect(stepAfter({ status: 200, hadEvents: true, failures: 0 }, 0.5)).toEqual({ kind: 'RETRY', inMs: 1_000 })
  const delays = [1, 2, 3, 4, 5, 6].map((failures) => stepAfter({ status: 0, hadEvents: false, failures }, 0.5))
  expect(delays.map((step) => (step.kind === 'RETRY' ? step.inMs : step.kind))).toEqual([
    1_000, 2_000, 4_000, 8_000, 15_000, 15_000,
  ])
})

test('a refused stream, and one that a proxy holds back, lead to polling', () => {
  expect(stepAfter({ status: 429, hadEvents: false, failures: 1 }, 0.5).kind).toBe('POLL')
  expect(stepAfter({ status: 200, hadEvents: false, failures: 2 }, 0.5).kind).toBe('RETRY')
  expect(stepAfter({ status: 200, hadEvents: false, failures: 3 }, 0.5).kind).toBe('POLL')
})

test('browsers do not come back all at once', () => {
  const end = { status: 0, hadEvents: false, failures: 2 }
  expect([stepAfter(end, 0), stepAfter(end, 1)]).toEqual([
    { kind: 'RETRY', inMs: 1_500 },
    { kind: 'RETRY', inMs: 2_500 },
  ])
})

test('events are read from pieces of any size', () => {
  const text = 'retry: 3000\n\nid: 7\nevent: binding\ndata: {"a":1}\n\n: comment\n\ndata: x\r\ndata: y\r\n\r\n'
  for (let cut = 0; cut <= text.length; cut++) {
    const parser = new EventParser()
    expect([...parser.take(text.slice(0, cut)), ...parser.take(text.slice(cut))]).toEqual([
      { id: '7', event: 'binding', data: '{"a":1}' },
      { id: undefined, event: 'message', data: 'x\ny' },
    ])
  }
})

test('a request is shown as a command line that a shell takes as it is', () => {
  const request = wireRequest('pauseBinding', { params: { name: 'a/b' }, body: { reason: "it's INC-311" } })
  expect(curlOf(request, 'http://127.0.0.1:4400/ops/')).toBe(
    `curl -X POST -H 'Waybill-CSRF: 1' -H 'Content-Type: application/json' --data '{"reason":"it'\\''s INC-311"}' ` +
      `'http://127.0.0.1:4400/ops/eventbus/bindings/a%2Fb/pause'`,
  )
  expect(wireRequest('listBindings', { query: { state: 'PAUSED', cursor: '' } })).toEqual({
    method: 'GET',
    path: 'eventbus/bindings?state=PAUSED',
    body: undefined,
  })
})

test('an answer of a proxy is a problem, too', () => {
  const problem = readProblem(502, 'Bad Gateway', '<html>nginx</html>')
  expect(problem).toMatchObject({
    title: 'Bad Gateway',
    code: 'HTTP_502',
    detail: 'The server answered 502 Bad Gateway.',
  })
  expect(problemText({ ...problem, hint: 'Wait.', requestId: '01K' })).toContain('Wait.\nrequest 01K')
})
