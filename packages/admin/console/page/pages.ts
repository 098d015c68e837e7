import type { ComponentType } from 'preact'
import { frameText } from '../text/frame.ts'

/** The properties of a page. */
export interface PageProps {
  /** Segments of the path that the pattern names. */
  readonly params: Readonly<Record<string, string>>
}

/** A file of a page. */
export interface PageModule {
  readonly default: ComponentType<PageProps>
}

/** A page and where it is. */
export interface PageEntry {
  readonly pattern: string
  /** Each page is a file of its own, loaded when it is opened. */
  readonly load: () => Promise<PageModule>
  /** Without it the page is absent from the navigation. */
  readonly permission?: string
  /** Its place in the navigation; `also` are the first segments of pages that belong to it. */
  readonly nav?: {
    readonly title: string
    readonly also?: readonly string[]
    readonly isShown?: () => boolean
  }
}

const { pages: titles } = frameText

/** Every page, in the order of the navigation. */
export const pages: readonly PageEntry[] = [
  {
    pattern: '',
    load: () => import('./overview/overview-page.tsx'),
    nav: { title: titles.overview, also: ['bindings'] },
  },
  { pattern: 'bindings/:key', load: () => import('./binding/binding-page.tsx') },
  {
    pattern: 'failures',
    load: () => import('./failures/failures-page.tsx'),
    permission: 'dlt:read',
    nav: { title: titles.failures, also: ['dead-letters'] },
  },
  { pattern: 'failures/:group', load: () => import('./dead-letter/group-page.tsx'), permission: 'dlt:read' },
  { pattern: 'dead-letters/:id', load: () => import('./dead-letter/dead-letter-page.tsx'), permission: 'dlt:read' },
  {
    pattern: 'operations',
    load: () => import('./operations/operations-page.tsx'),
    permission: 'operations:read',
    nav: { title: titles.operations },
  },
  {
    pattern: 'operations/:id',
    load: () => import('./operations/operation-page.tsx'),
    permission: 'operations:read',
  },
  {
    pattern: 'outbox',
    load: () => import('./outbox/outboxes-page.tsx'),
    permission: 'outbox:read',
    nav: { title: titles.outbox },
  },
  { pattern: 'outbox/:outbox', load: () => import('./outbox/outbox-page.tsx') },
  { pattern: 'outbox/:outbox/events/:eventId', load: () => import('./outbox/outbox-event-page.tsx') },
  {
    pattern: 'projections',
    load: () => import('./projections/projections-page.tsx'),
    permission: 'projections:read',
    nav: { title: titles.projections },
  },
  { pattern: 'projections/:name', load: () => import('./projections/projection-page.tsx') },
  {
    pattern: 'topics',
    load: () => import('./topics/topics-page.tsx'),
    permission: 'topics:read',
    nav: { title: titles.topics, also: ['groups'] },
  },
  { pattern: 'groups/:group', load: () => import('./topics/group-page.tsx') },
  {
    pattern: 'audit',
    load: () => import('./audit/audit-page.tsx'),
    permission: 'audit:read',
    nav: { title: titles.audit },
  },
  { pattern: 'me', load: () => import('./me/me-page.tsx') },
]
