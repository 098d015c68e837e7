import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { live } from '../state/live.ts'
import { auditAway, me } from '../state/session.ts'
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
  const versions = versionsOf([...(live.items.instance.value?.values() ?? [])])
  return [
    ...(value.scope === 'INSTANCE' && others > 0
      ? [{ id: 'scope' as const, text: frameText.banners.scope(others) }]
      : []),
    ...(auditAway.value ? [{ id: 'audit' as const, text: frameText.banners.audit }] : []),
    ...(versions.length < 2
      ? []
      : [{ id: 'versions' as const, text: frameText.banners.versions(versions.join(', ')) }]),
    ...(value.hasIdentity ? [] : [{ id: 'noIdentity' as const, text: frameText.banners.noIdentity }]),
    ...(value.durable ? [] : [{ id: 'memory' as const, text: frameText.banners.memory }]),
  ]
}

/** Returns the versions of live instances with their counts: "1.8.1 (2)". */
function versionsOf(instances: readonly { readonly version: string | null; readonly alive: boolean }[]): string[] {
  const alive = instances.flatMap(({ alive: isAlive, version }) => (isAlive && version !== null ? [version] : []))
  return [...Map.groupBy(alive, (version) => version)]
    .map(([version, all]) => `${version} (${all.length})`)
    .toSorted((one, other) => one.localeCompare(other))
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
