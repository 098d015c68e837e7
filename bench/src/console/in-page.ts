/** Programs that run in the page before the console does. */

/** Notes when the first element of a selector is in the document, and when the next frame was drawn. */
export const noteDrawn = `
  window.drawn = {}
  window.whenDrawn = (selector, count) => new Promise((resolve) => {
    const look = () => {
      if (document.querySelectorAll(selector).length < count) return false
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now()), 0))
      return true
    }
    if (look()) return
    const observer = new MutationObserver(() => { if (look()) observer.disconnect() })
    observer.observe(document, { childList: true, subtree: true, attributes: true })
  })
`

/**
 * Replaces the stream by one that sends so many changes of 50 bindings a second.
 *
 * @param perSecond - events
 */
export function busyStream(perSecond: number): string {
  return `
    const real = window.fetch
    window.sentEvents = 0
    window.fetch = (input, init) => {
      if (!String(input.url ?? input).includes('/eventbus/stream')) return real(input, init)
      const encoder = new TextEncoder()
      const body = new ReadableStream({
        start(controller) {
          let id = 0
          const eventOf = (no) => {
            const key = 'b-' + (no % 50)
            const binding = {
              key, name: key, cluster: 'default', topics: ['orders'], groupId: key, state: 'RUNNING', pausedBy: [],
              lag: { records: String(no % 997), seconds: no % 60 }, retrying: String(no % 13),
              rates: { processedPerSecond: no % 500, failedPerSecond: 0, deadPerMinute: 0 },
              dead: { depth: '0' }, breaker: { state: 'CLOSED' }, instances: { alive: 1 },
            }
            return 'id: ' + (++id) + '\\nevent: binding\\ndata: ' + JSON.stringify(binding) + '\\n\\n'
          }
          controller.enqueue(encoder.encode('retry: 3000\\n\\n'))
          const timer = setInterval(() => {
            let text = ''
            for (let count = 0; count < ${perSecond / 20}; count++) text += eventOf(window.sentEvents++)
            controller.enqueue(encoder.encode(text))
          }, 50)
          init?.signal?.addEventListener('abort', () => {
            clearInterval(timer)
            try { controller.error(init.signal.reason) } catch {}
          })
        },
      })
      return Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }))
    }
  `
}
