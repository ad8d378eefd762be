//! The address policy, with literals, odd forms, names, and names that change their answer.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::transport::NameResolver;

/// Answers a list of addresses, one per question; the last one stays.
#[derive(Debug)]
struct Names {
    answers: Vec<&'static str>,
    asked: AtomicUsize,
}

impl NameResolver for Names {
    fn resolve(&self, _: String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        let turn = self.asked.fetch_add(1, Ordering::SeqCst).min(self.answers.len() - 1);
        let address = SocketAddr::new(self.answers[turn].parse().unwrap(), 0);
        std::future::ready(Ok(vec![address])).boxed()
    }
}

async fn tell(answers: &[&'static str], proxy: Option<String>, url: String, network: Value) -> Result<(), HookFault> {
    let resolver = Arc::new(Names { answers: answers.to_vec(), asked: AtomicUsize::new(0) });
    let carrier = HttpCarrier::new(Arc::new(Vars::default()), HttpSettings { proxy, resolver }).unwrap();
    carrier.notify(request(config(json!({"url": url, "network": network, "timeout": 5})), json!({}))).await
}

#[tokio::test]
async fn literals_are_refused_in_whatever_form() {
    let server = Server::always(Reply::ok(""));
    let port = server.port();
    for host in [
        "127.0.0.1",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "127.1",
        "[::ffff:127.0.0.1]",
        "[::1]",
        "0.0.0.0",
        "[::]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b:1::7f00:1]",
        "[::127.0.0.1]",
        "[2002:7f00:1::]",
        "017700000001",
        "0x7f000001",
        "0X7F.0.0.0x1",
        "127.0x1",
        "127%2e0%2e0%2e1",
        "①②⑦.0.0.1",
        "127。0。0。1",
        "169.254.169.254",
        "0xa9fea9fe",
        "0",
    ] {
        let url = format!("http://{host}:{port}/");
        let fault = tell(&["127.0.0.1"], None, url, json!({"denyPrivate": true})).await.unwrap_err();
        assert_eq!(fault.code(), FaultCode::Configuration, "{host}");
    }
    assert!(server.seen().is_empty());
    let url = format!("http://127.0.0.1:{port}/");
    assert_eq!(
        tell(&["127.0.0.1"], None, url.clone(), json!({"deny_private": true, "allow": ["127.0.0.0/8"]})).await,
        Ok(())
    );
    assert_eq!(tell(&["127.0.0.1"], None, url, json!({})).await, Ok(()));
}

#[tokio::test]
async fn the_systems_own_names_are_looked_up_and_refused() {
    let server = Server::always(Reply::ok(""));
    for host in ["localhost", "LOCALHOST"] {
        let url = format!("http://{host}:{}/", server.port());
        let hook = |network| json!({"url": url, "network": network, "timeout": 5});
        let refused = notify(&Vars::default(), hook(json!({"denyPrivate": true}))).await.unwrap_err();
        assert!(
            refused.to_string().contains("the network policy refuses the address: list it under"),
            "{host}: {refused}"
        );
        let allowed = notify(&Vars::default(), hook(json!({"denyPrivate": true, "allow": ["localhost"]}))).await;
        assert_eq!(allowed, Ok(()), "{host}");
    }
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_control_is_held_to_the_policy_as_a_notification_is() {
    let server = Server::always(Reply::allow());
    let hook = json!({
        "url": format!("http://policy.test:{}/", server.port()), "network": {"denyPrivate": true},
        "responseHandling": "toolCall"
    });
    let resolver = Arc::new(Names { answers: vec!["127.0.0.1"], asked: AtomicUsize::new(0) });
    let carrier = HttpCarrier::new(Arc::new(Vars::default()), HttpSettings { proxy: None, resolver }).unwrap();
    let fault = carrier.ask(request(config(hook), json!({}))).await.unwrap_err();
    assert!(fault.to_string().contains("the network policy refuses the address: list it under"));
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_name_is_checked_when_it_is_dialled() {
    let server = Server::always(Reply::ok(""));
    let url = format!("http://policy.test:{}/", server.port());
    for address in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1"] {
        let fault = tell(&[address], None, url.clone(), json!({"denyPrivate": true})).await.unwrap_err();
        let expected = "Hook HTTP request failed: network_error: the network policy refuses the address: list it under \
                        `network.allow`, or correct the URL";
        assert_eq!(fault.to_string(), expected);
    }
    assert!(server.seen().is_empty());
    assert_eq!(tell(&["127.0.0.1"], None, url, json!({"denyPrivate": true, "allow": ["policy.test"]})).await, Ok(()));
}

#[tokio::test]
async fn a_name_that_changes_its_answer_is_checked_again() {
    let server = Server::always(Reply::Close);
    let url = format!("http://policy.test:{}/", server.port());
    let resolver = Arc::new(Names { answers: vec!["127.0.0.2", "127.0.0.1"], asked: AtomicUsize::new(0) });
    let settings = HttpSettings { proxy: None, resolver: Arc::clone(&resolver) as _ };
    let carrier = HttpCarrier::new(Arc::new(Vars::default()), settings).unwrap();
    let hook =
        || request(config(json!({"url": url, "network": {"denyPrivate": true, "allow": ["127.0.0.2"]}})), json!({}));
    // The first answer is an exception, though nobody listens there; the second one is refused.
    let first = carrier.notify(hook()).await.unwrap_err();
    assert_eq!(first.to_string(), "Hook HTTP request failed: network_error");
    let second = carrier.notify(hook()).await.unwrap_err();
    assert!(second.to_string().contains("the network policy refuses the address: list it under"));
    assert!(server.seen().is_empty() && resolver.asked.load(Ordering::SeqCst) == 2);
}

#[tokio::test]
async fn a_redirect_leads_nowhere_inside() {
    let inside = Server::always(Reply::ok(""));
    for status in [302, 307] {
        let server = Server::always(Reply::Redirect(status, inside.url("/")));
        let network = json!({"denyPrivate": true, "allow": ["policy.test"]});
        let url = format!("http://policy.test:{}/", server.port());
        assert_eq!(tell(&["127.0.0.1"], None, url, network).await.unwrap_err().code(), FaultCode::HttpError);
    }
    assert!(inside.seen().is_empty());
}

#[tokio::test]
async fn a_proxy_is_used_if_one_is_set_and_names_must_then_be_exceptions() {
    let proxy = Server::always(Reply::ok(""));
    let dialled = Some(proxy.url(""));
    assert_eq!(tell(&["127.0.0.1"], dialled.clone(), "http://policy.test/hook".into(), json!({})).await, Ok(()));
    assert_eq!(proxy.paths(), ["http://policy.test/hook"]);
    let refused = tell(&["127.0.0.1"], dialled, "http://policy.test/hook".into(), json!({"denyPrivate": true})).await;
    assert_eq!(refused.unwrap_err().code(), FaultCode::Configuration);
}

#[tokio::test]
async fn the_policy_of_a_hook_is_not_about_the_proxy_that_the_operator_chose() {
    let proxy = Server::always(Reply::ok(""));
    let dialled = Some(format!("http://proxy.test:{}", proxy.port()));
    let network = json!({"denyPrivate": true, "allow": ["policy.test"]});
    let told = tell(&["127.0.0.1"], dialled.clone(), "http://policy.test/hook".into(), network.clone()).await;
    assert_eq!(told, Ok(()));
    // What the proxy would be asked for is checked all the same.
    for url in ["http://10.0.0.1/", "http://0x7f.1/", "http://other.test/", "http://proxy.test/"] {
        let fault = tell(&["127.0.0.1"], dialled.clone(), url.into(), network.clone()).await.unwrap_err();
        assert_eq!(fault.code(), FaultCode::Configuration, "{url}");
    }
    assert_eq!(proxy.paths(), ["http://policy.test/hook"]);
}
