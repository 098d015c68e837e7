/** The present place. Links are links: the browser's own keys and menus work on them. */

import { computed, type ReadonlySignal, signal } from '@preact/signals'
import { base } from '../api/client.ts'
import { formatPlace, type Place, parsePlace } from './place.ts'
import { type Params, readState, type StateOf, writeState } from './query-codec.ts'

const current = signal<Place>(parsePlace(new URL(location.href), base.pathname))

/** The page that is shown. */
export const place: ReadonlySignal<Place> = current

/** The path of the page, without its query: it changes when another page is opened. */
export const path: ReadonlySignal<string> = computed(() => formatPlace({ segments: current.value.segments, query: {} }))

/** Returns the address of a place: `hrefOf(['bindings', key], { tab: 'audit' })`. */
export function hrefOf(segments: readonly string[], query: Readonly<Record<string, string>> = {}): string {
  return `${base.pathname}${formatPlace({ segments, query })}`
}

/** Opens a place. @param how - REPLACE changes the address without a step of the history */
export function open(href: string, how: 'PUSH' | 'REPLACE' = 'PUSH'): void {
  const url = new URL(href, location.href)
  const next = parsePlace(url, base.pathname)
  const isOther = next.segments.join('/') !== current.value.segments.join('/')
  if (how === 'PUSH') history.pushState(null, '', url)
  else history.replaceState(null, '', url)
  current.value = next
  if (isOther) scrollTo(0, 0)
}

/** Follows links and the browser's history. */
export function startRouter(): void {
  addEventListener('popstate', () => {
    current.value = parsePlace(new URL(location.href), base.pathname)
  })
  document.addEventListener('click', (event) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return
    const link = (event.target as Element | null)?.closest('a')
    if (!(link instanceof HTMLAnchorElement) || link.target !== '' || link.hasAttribute('download')) return
    const url = new URL(link.href)
    if (url.origin !== base.origin || !url.pathname.startsWith(base.pathname) || url.hash !== '') return
    event.preventDefault()
    open(link.href)
  })
}

/** The state of a page in its URL. */
export interface UrlState<P> {
  readonly value: StateOf<P>
  /** Changes a part. Typing replaces the address, a choice is a step of the history. */
  readonly set: (state: Partial<StateOf<P>>, how?: 'PUSH' | 'REPLACE') => void
  /** Returns the address of this page with another state. */
  readonly href: (state: Partial<StateOf<P>>) => string
}

/** Returns the state of the present page. */
export function urlState<P extends Params>(params: P): UrlState<P> {
  const { segments, query } = current.value
  const href = (state: Partial<StateOf<P>>): string => hrefOf(segments, writeState(params, state, query))
  return { value: readState(params, query), href, set: (state, how = 'REPLACE') => open(href(state), how) }
}
