import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { live } from '../state/live.ts'
import { me } from '../state/session.ts'
import { frameText } from '../text/frame.ts'

type BannerId = keyof typeof frameText.bannerWhy

interface BannerLine {
  readonly id: BannerId
  readonly text: string
}

/** More would push the page away. */
const maxShown = 2
const storageKey = 'waybill.dismissed'
const dismissed = signal<readonly string[]>(readDismissed())

/** Shows notices of one line each above every page. */
export function Banners(): JSX.Element | null {
  const lines = linesOf()
    .filter(({ id }) => !dismissed.value.includes(id))
    .slice(0, maxShown)
  if (lines.length === 0) return null
  return (
    <div class="banners" role="region" aria-label={frameText.banner}>
      {lines.map(({ id, text }) => (
        <div key={id} class="banner">
          <span class="glyph tone-warn" aria-hidden="true">
            ▲
          </span>
          <span>
            {text} <span class="muted">{frameText.bannerWhy[id]}</span>
          </span>
          <button
            type="button"
            class="quiet"
            aria-label={frameText.dismiss}
            title={frameText.dismiss}
            onClick={() => dismiss(id)}
          >
            ✕
          </button>
        </div>
      ))}
    </div>
  )
}

function linesOf(): readonly BannerLine[] {
  const { value } = me
  if (value === undefined) return []
  const others = Math.max(
    0,
    ...[...(live.items.binding.value?.values() ?? [])].map(({ instances }) => instances.alive - 1),
  )
  return [
    ...(value.scope === 'INSTANCE' && others > 0
      ? [{ id: 'scope' as const, text: frameText.banners.scope(others) }]
      : []),
    ...(value.hasIdentity ? [] : [{ id: 'noIdentity' as const, text: frameText.banners.noIdentity }]),
    ...(value.durable ? [] : [{ id: 'memory' as const, text: frameText.banners.memory }]),
  ]
}

function dismiss(id: BannerId): void {
  dismissed.value = [...dismissed.value, id]
  try {
    sessionStorage.setItem(storageKey, dismissed.value.join(','))
  } catch {
    // Without storage it comes back with the next page load.
  }
}

function readDismissed(): readonly string[] {
  try {
    return sessionStorage.getItem(storageKey)?.split(',') ?? []
  } catch {
    return []
  }
}
