//! Statements that are sent too often.

use super::*;
use crate::ids::{Id, RowId};
use crate::profile::timeline::TimelineEvent;

/// Builds a profile of one endpoint with a statement in each of three requests, and of another with seven
/// requests.
fn queries(times: usize) -> Profile {
    let mut example = Example::lasting_ms(1_000);
    let stack = |place: &str| {
        format!("{place}; ActiveRecord::Relation#records /g/gems/activerecord-6.1/a.rb:3; SQLite3::Statement#step")
    };
    let weights = |ms| [(SampleType::Wall, ms * 1_000_000), (SampleType::Samples, ms)];
    let orders = stack("Orders#index /app/orders.rb:7");
    example.row(MAIN, State::Running, &[("endpoint", "orders#index")], &weights(500), &orders);
    let health = stack("Health#show /app/health.rb:3");
    example.row(MAIN, State::Running, &[("endpoint", "health#show")], &weights(20), &health);
    let mut profile = example.profile();
    let query = |name: &str| Marker { name: name.into(), duration_ns: 1_000_000, ..Marker::default() };
    profile.markers = vec![query("SQL Item Load: SELECT items.* FROM items WHERE id = ?"); times];
    for (endpoint, requests) in [("orders#index", 3), ("health#show", 7)] {
        let labels =
            crate::profile::LabelSet::EMPTY.with([("endpoint".to_owned(), Some(endpoint.to_owned()))]);
        (0..requests).for_each(|_| profile.requests.record(&labels, 1));
    }
    profile
}

#[test]
fn a_query_that_each_request_sends_often_comes_first() {
    let mut profile = queries(60);
    let expected = finding(
        FindingKind::Queries,
        "items queried 20 times a request under orders#index, 60.0 ms: SELECT items.* FROM items WHERE id = ?",
        "/app/orders.rb:7",
        0,
    );
    assert_eq!(found(&profile)[0], expected);
    profile.markers.truncate(29);
    assert!(found(&profile).iter().all(|it| it.0 != FindingKind::Queries));
}

#[test]
fn three_queries_are_named_and_cached_ones_count() {
    let mut profile = queries(60);
    let query = |name: &str, times| {
        let marker = Marker { name: name.into(), duration_ns: 1_000_000, ..Marker::default() };
        vec![marker; times]
    };
    profile.markers.extend(query("SQL Tag Load: SELECT tags.* FROM tags WHERE id = ?", 45));
    profile.markers.extend(query("SQL cached User Load: SELECT users.* FROM users WHERE id = ?", 30));
    profile.markers.extend(query("SQL User Load: SELECT users.* FROM users WHERE id = ?", 6));
    profile.markers.extend(query("SQL COMMIT: COMMIT", 31));
    let text = "items queried 20 times, tags 15 times, users 12 times a request (10 from the query cache) under orders#index, \
                111 ms: SELECT items.* FROM items WHERE id = ?";
    assert_eq!(found(&profile)[0].1, text);
}

#[test]
fn active_record_sends_nothing_where_it_wraps_a_request() {
    let mut example = Example::lasting_ms(1_000);
    let wraps = "ActiveRecord::Railties::ControllerRuntime#process_action /g/gems/activerecord-6.1/r.rb:3";
    for (endpoint, place, inner, ms) in [
        (
            "orders#show",
            "Tracer#call /app/tracer.rb:2",
            format!("{wraps}; ActionView::Base#render; String#gsub"),
            900,
        ),
        (
            "orders#index",
            "Orders#index /app/orders.rb:7",
            "ActiveRecord::Relation#records; SQLite3::Statement#step".into(),
            50,
        ),
    ] {
        let weights = [(SampleType::Wall, ms * 1_000_000), (SampleType::Samples, ms)];
        example.row(MAIN, State::Running, &[("endpoint", endpoint)], &weights, &format!("{place}; {inner}"));
    }
    let mut profile = example.profile();
    let sql = Marker { name: "SQL: SELECT 1 FROM items".into(), duration_ns: 1_000_000, ..Marker::default() };
    profile.markers = vec![sql; 100];
    for (endpoint, requests) in [("orders#index", 4), ("orders#show", 60)] {
        let labels =
            crate::profile::LabelSet::EMPTY.with([("endpoint".to_owned(), Some(endpoint.to_owned()))]);
        (0..requests).for_each(|_| profile.requests.record(&labels, 1));
    }
    let queries = found(&profile).into_iter().find(|it| it.0 == FindingKind::Queries);
    assert!(
        queries.is_some_and(|it| it.1.starts_with("items queried 25 times a request under orders#index, "))
    );
}

/// Builds two endpoints that follow each other on a thread, for 100 ms each: one sends a statement from `list` many times, the
/// other sends it once, and works in a method that sends another statement.
fn by_time() -> Profile {
    let mut example = Example::lasting_ms(200);
    let stack =
        |place: &str| format!("{place}; ActiveRecord::Relation#records /g/gems/activerecord-6.1/a.rb:3");
    let weights = [(SampleType::Wall, 10_000_000), (SampleType::Samples, 10)];
    let rows = [
        ("orders#index", "Orders#list /app/orders.rb:7"),
        ("orders#index", "Orders#user /app/orders.rb:9"),
        ("health#show", "Health#show /app/health.rb:3"),
    ];
    for (endpoint, place) in rows {
        example.row(MAIN, State::Running, &[("endpoint", endpoint)], &weights, &stack(place));
    }
    let mut profile = example.profile();
    let row_at = |time: u64| match time {
        0..30 => 0,
        30..100 => 1,
        _ => 2,
    };
    let event = |time: u64| TimelineEvent {
        time_ns: (time + 10) * 1_000_000,
        row: RowId::from_index(row_at(time)),
        weights: profile.samples[row_at(time)].weights,
    };
    profile.timeline = Some((0..20).map(|it| event(it * 10)).collect());
    let query = |name: &str, at_ns: u64| Marker {
        name: name.into(),
        started_at_ns: at_ns,
        duration_ns: 1_000_000,
        thread: profile.threads[0].clone(),
    };
    profile.markers =
        (0..30).map(|it| query("SQL Item Load: SELECT items.* FROM items", it * 1_000_000)).collect();
    profile.markers.push(query("SQL User Load: SELECT users.* FROM users", 50_000_000));
    profile
        .markers
        .extend((0..4).map(|it| query("SQL Item Load: SELECT items.* FROM items", 110_000_000 + it)));
    for endpoint in ["orders#index", "health#show"] {
        let labels =
            crate::profile::LabelSet::EMPTY.with([("endpoint".to_owned(), Some(endpoint.to_owned()))]);
        profile.requests.record(&labels, 100_000_000);
    }
    profile
}

#[test]
fn a_query_counts_for_the_endpoint_of_its_time_and_has_its_own_place() {
    let expected = finding(
        FindingKind::Queries,
        "items queried 30 times under orders#index, 30.0 ms: SELECT items.* FROM items",
        "/app/orders.rb:7",
        0,
    );
    assert_eq!(found(&by_time())[0], expected);
}
